#!/bin/sh
# Builds and runs the tests of the basket.
set -e
cd "$(dirname "$0")"
mkdir -p target
rustc --edition 2021 --test src/tests.rs -o target/tests
target/tests --test-threads 1 2>&1
