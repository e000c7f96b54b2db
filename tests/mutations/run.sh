#!/usr/bin/env bash
# Makes seeded mutations one at a time and expects the tests to fail; see README.md.
exec python3 "$(dirname "$0")/run.py" "$@"
