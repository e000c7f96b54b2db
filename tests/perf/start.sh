#!/bin/sh
# How long the release binary takes from being started to its complete first request body at a socket, in a git
# repository of 5,000 files with an AGENTS.md, against the time of `node -e 0` in the same run.
#
#   tests/perf/start.sh [BINARY]
set -eu
cd "$(dirname "$0")/../.."
binary=${1:-${CARGO_TARGET_DIR:-target}/release/antefix}
[ -x "$binary" ] || cargo build --release -p antefix
exec python3 tests/perf/start.py "$binary"
