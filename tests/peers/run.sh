#!/bin/sh
# The official SDKs complete a streaming tool loop against two running simulators: run.sh MESSAGES_URL CHAT_URL
# Both must run with tests/peers/loop.script, the second with `--profile vllm --cached-tokens on`. Packages are installed beside this file once.
set -eu
if [ $# -ne 2 ]; then
    echo "usage: run.sh MESSAGES_URL CHAT_URL" >&2
    exit 2
fi
messages_url=$1
chat_url=$2
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

node sdk.mjs "$messages_url"
.venv/bin/python sdk.py "$messages_url"
node openai.mjs "$chat_url"
.venv/bin/python openai_sdk.py "$chat_url"
echo "4 passed, 0 failed"
