#!/bin/sh
# The reference MCP servers are listed, called and tested by antefix, over stdio and over HTTP: mcp.sh ANTEFIX
# Packages are installed beside this file once.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: mcp.sh ANTEFIX" >&2
    exit 2
fi
antefix=$1
cd "$(dirname "$0")/mcp"
# No proxy stands between this machine and itself.
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost

# Installed anew whenever the pinned versions change.
if ! cmp -s package.json node_modules/.installed; then
    npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error >&2
    cp package.json node_modules/.installed
fi

work=$(mktemp -d)
http=
finish() {
    [ -z "$http" ] || kill "$http" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
mkdir "$work/files"
printf 'a file for the peers\n' >"$work/files/note.txt"
everything=$PWD/node_modules/@modelcontextprotocol/server-everything/dist/index.js
filesystem=$PWD/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
PORT=$port node "$everything" streamableHttp >"$work/http.log" 2>&1 &
http=$!
for _ in $(seq 1 100); do grep -q "$port" "$work/http.log" && break; sleep 0.1; done

cat >"$work/servers.json" <<JSON
{"mcpServers": {
    "web": {"type": "http", "url": "http://127.0.0.1:$port/mcp"},
    "everything": {"command": "node", "args": ["$everything", "stdio"]},
    "files": {"command": "node", "args": ["$filesystem", "$work/files"]}
}}
JSON
mcp() { "$antefix" mcp --strict-mcp-config --mcp-config "$work/servers.json" "$@"; }
expect() {
    case $2 in
        *"$1"*) ;;
        *) printf 'expected `%s` in:\n%s\n' "$1" "$2" >&2; exit 1 ;;
    esac
}

mcp list
expect '"state":"ready"' "$(mcp get everything --json)"
expect 'a file for the peers' "$(mcp call files read_text_file "{\"path\":\"$work/files/note.txt\"}")"
for server in everything web; do
    expect 'Echo: 1.0e2' "$(mcp call "$server" echo '{"message":"1.0e2"}')"
    expect '"resources":[{' "$(mcp get "$server" --json)"
done
mcp test

# What is kept of a prompt when they stay, go and come back; each is waited for, so that the head has all.
cat >"$work/peers.json" <<JSON
{"mcpServers": {
    "everything": {"command": "node", "args": ["$everything", "stdio"], "required": true},
    "files": {"command": "node", "args": ["$filesystem", "$work/files"], "required": true}
}}
JSON
"$antefix" conform self --peers "$work/peers.json" --row peers --row peers-gone --row peers-back
echo "3 servers listed, called and tested"
