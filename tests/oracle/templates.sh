#!/usr/bin/env bash
# A session of three turns, each by a new process, on each engine and chat template: templates.sh ANTEFIX
# Judged from captured bodies: does each request extend the one before, and has the engine read what it should have?
set -euo pipefail
antefix=$(realpath "$1")
oracle=$(realpath "$(dirname "$0")")/oracle.py
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
# No proxy stands between this machine and itself.
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1

cat >"$work/script" <<'SCRIPT'
rule
  on said read
  on rounds 0
  think It has to be read first.
  text I read it.
  tool read {"path":"a.txt"}
  tool grep {"pattern":"one"}
rule
  think Now it is read.
  text Done: {{said}}
SCRIPT
mkdir "$work/folder"
printf 'one\ntwo\n' >"$work/folder/a.txt"

judge() {
    local profile=$1 template=$2 case=$work/$1-$2
    mkdir "$case" "$case/home"
    "$antefix" sim --profile "$profile" --template-class "$template" --cached-tokens on --script "$work/script" \
        --capture "$case/bodies" >"$case/url" 2>/dev/null &
    server=$!
    for _ in $(seq 1 100); do [ -s "$case/url" ] && break; sleep 0.1; done
    for turn in 1 2 3; do
        local again=()
        [ "$turn" = 1 ] || again=(--continue)
        (cd "$work/folder" && HOME=$case/home XDG_STATE_HOME=$case/home XDG_CONFIG_HOME=$case/home \
            "$antefix" run "${again[@]}" --provider compatible --base-url "$(head -n 1 "$case/url")/v1" --model sim-model \
            --permission-mode full "read it, turn $turn" >"$case/said" 2>&1) || { cat "$case/said"; exit 1; }
    done
    kill "$server" && server=
    python3 "$oracle" extends "$case/bodies" >"$case/extends" || { cat "$case/extends"; exit 1; }
    python3 "$oracle" engine "$case/bodies" --profile "$profile" --template-class "$template" >"$case/engine" ||
        { cat "$case/engine"; exit 1; }
    echo "$profile $template: $(tail -n 1 "$case/extends"); $(tail -n 1 "$case/engine")"
}

for profile in vllm llamacpp; do
    for template in append-only reasoning-stripping tools-late dated strict-alternation; do
        judge "$profile" "$template"
    done
done
