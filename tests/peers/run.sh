#!/bin/sh
# The official SDKs complete a streaming tool loop against a running simulator: run.sh BASE_URL
# The simulator must run with tests/peers/loop.script. Packages are installed beside this file once.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: run.sh BASE_URL" >&2
    exit 2
fi
base_url=$1
cd "$(dirname "$0")"
# No proxy stands between this machine and itself.
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost

# Installed anew whenever the pinned versions change.
if ! cmp -s package.json node_modules/.installed; then
    npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error >&2
    cp package.json node_modules/.installed
fi
if ! cmp -s requirements.txt .venv/.installed; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt >&2
    cp requirements.txt .venv/.installed
fi

node sdk.mjs "$base_url"
.venv/bin/python sdk.py "$base_url"
echo "2 passed, 0 failed"
