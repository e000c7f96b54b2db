#!/usr/bin/env bash
# Random conversations, planned by antefix-prefix and billed by antefix-sim: does the oracle bill the same, to the token?
set -euo pipefail
cd "$(dirname "$0")/../.."
captures=$(mktemp -d)
trap 'rm -rf "$captures"' EXIT
ANTEFIX_CAPTURE_DIR=$captures cargo test --quiet -p antefix-prefix --test planned_vs_billed >"$captures/log" 2>&1 ||
    { cat "$captures/log"; exit 1; }
python3 tests/oracle/judge_many.py "$captures"
