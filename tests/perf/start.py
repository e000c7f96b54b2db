"""Times the start of an agent; see start.sh. Exit status 1 if it is not faster than `node -e 0` over plain HTTP."""

from __future__ import annotations

import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 20
ROOT = Path(__file__).resolve().parents[2]
TLS = ROOT / "crates/antefix-http/tests/it/tls"
EVENTS = (
    'message_start {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],'
    '"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
    'content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    'content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}',
    'content_block_stop {"type":"content_block_stop","index":0}',
    'message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}',
    'message_stop {"type":"message_stop"}',
)
ANSWER = "".join("event: {}\ndata: {}\n\n".format(*event.split(" ", 1)) for event in EVENTS).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def make_repository(folder: Path) -> None:
    """5,000 small files in 100 folders, committed."""
    for number in range(100):
        inner = folder / f"module{number:03}"
        inner.mkdir(parents=True)
        for file in range(50):
            (inner / f"file{file:02}.rs").write_text(f"pub fn f{file}() -> u32 {{\n    {number}\n}}\n" * 5)
    (folder / "AGENTS.md").write_text("# Instructions\nRun the tests with `make test`.\n" * 20)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "All")):
        subprocess.run(("git", *arguments), cwd=folder, check=True)


def read_request(connection: socket.socket) -> None:
    """Reads a request to the last byte of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 16)
    head, body = data.split(b"\r\n\r\n", 1)
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(1 << 16)


def start(binary: str, listener: socket.socket, scheme: str, project: Path, home: Path) -> float:
    """Milliseconds from spawn to the last byte of the first request."""
    port = listener.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": f"{scheme}://127.0.0.1:{port}",
        "SSL_CERT_FILE": str(TLS / "ca.pem"),
    }
    begun = time.perf_counter()
    child = subprocess.Popen((binary, "run", "Hello"), cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    connection, _ = listener.accept()
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
        connection = context.wrap_socket(connection, server_side=True)
    read_request(connection)
    taken = time.perf_counter() - begun
    connection.sendall(HEAD + ANSWER)
    connection.close()
    _, said = child.communicate()
    if child.returncode:
        sys.exit(f"the turn failed: {said.decode()}")
    return 1000 * taken


def node() -> float:
    begun = time.perf_counter()
    subprocess.run(("node", "-e", "0"), check=True)
    return 1000 * (time.perf_counter() - begun)


def main() -> int:
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        project, home = Path(folder) / "project", Path(folder) / "home"
        home.mkdir()
        make_repository(project)
        rows: dict[str, list[float]] = {"node -e 0": [], "http": [], "https": []}
        for _ in range(RUNS):
            rows["node -e 0"].append(node())
            for scheme in ("http", "https"):
                rows[scheme].append(start(binary, listener, scheme, project, home))
    medians = {name: statistics.median(times) for name, times in rows.items()}
    for name, times in rows.items():
        ratio = medians[name] / medians["node -e 0"]
        print(f"{name:<10} median {medians[name]:7.2f} ms  least {min(times):7.2f} ms  {ratio:5.2f} × node")
    return int(medians["http"] >= medians["node -e 0"])


if __name__ == "__main__":
    sys.exit(main())
