#!/usr/bin/env bash
# Instructions that the hot paths may take, counted by callgrind: the same on a busy machine as on an idle one.
# A budget is about 15 % above what was counted when it was set; lower it when the code gets faster.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
cargo build --release --quiet -p antefix-wire --example scan_speed
cargo build --release --quiet -p antefix-prefix --example digest_speed --example verdict_speed

# Instructions of one run of the work: the difference between 6 and 2 runs, over 4.
count() {
    local few many
    few=$(instructions "$@" 2)
    many=$(instructions "$@" 6)
    echo $(((many - few) / 4))
}

instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

passed=0 failed=0
budget() { # NAME BUDGET COMMAND…
    local name=$1 limit=$2 counted
    shift 2
    counted=$(count "$@")
    if [ -n "$counted" ] && [ "$counted" -gt 0 ] && [ "$counted" -le "$limit" ]; then
        passed=$((passed + 1))
        printf 'ok     %-50s %12s of %s instructions\n' "$name" "$counted" "$limit"
    else
        failed=$((failed + 1))
        printf 'FAILED %-50s %12s of %s instructions\n' "$name" "$counted" "$limit"
    fi
}

budget "scan a 1 MB body" 10400000 "$target/release/examples/scan_speed"
budget "scan and digest a 1 MB body, both digests" 32500000 "$target/release/examples/digest_speed" digest
budget "place the change of a 1 MB body by stored digests" 33900000 "$target/release/examples/digest_speed" stored
budget "compare a 1 MB body with its kept parent" 7900000 "$target/release/examples/digest_speed" compare
budget "judge a 1 MB body that extends its parent" 5500000 "$target/release/examples/verdict_speed" extends
budget "judge a 1 MB body changed near its front" 6100000 "$target/release/examples/verdict_speed" changed

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
