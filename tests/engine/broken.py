"""Sends the last captured body again with one character of its first message changed: broken.py URL FOLDER

Writes body and times beside the others, in the form of captures.
"""

import json
import pathlib
import sys
import time
import urllib.request


def main():
    url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    last = sorted(folder.glob("*.body.json"))[-1]
    body = last.read_bytes()
    first = json.loads(body)["messages"][0]["content"][:12]
    at = body.index(json.dumps(first)[1:-1].encode())
    changed = body[:at] + (b"X" if body[at : at + 1] != b"X" else b"Y") + body[at + 1 :]
    request = urllib.request.Request(
        f"{url}/chat/completions", changed, {"content-type": "application/json", "authorization": "Bearer none"}
    )
    sent = time.time()
    with urllib.request.urlopen(request) as answer:
        answer.read(1)
        first_byte = time.time()
        answer.read()
    number = int(last.name.split(".")[0]) + 1
    (folder / f"{number:06}.body.json").write_bytes(changed)
    meta = {"n": number, "at_ms": int(sent * 1000), "first_byte_at_ms": int(first_byte * 1000), "status": answer.status}
    (folder / f"{number:06}.meta.json").write_text(json.dumps(meta) + "\n")


if __name__ == "__main__":
    main()
