#!/bin/sh
# How long `grep` and `glob` take in a tree of 50,000 files against ripgrep in the same run, and what an edit of a 5 MB
# file adds to reading it.
#
#   tests/perf/search.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/../.."
program=${1:-${CARGO_TARGET_DIR:-target}/release/examples/search_speed}
[ -x "$program" ] || cargo build --release --quiet -p antefix-tools --example search_speed
exec python3 tests/perf/search.py "$program"
