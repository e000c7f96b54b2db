"""Builds small captures for the tests of the oracle."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captured import Request, read_capture


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sized(name: str, size: int, ttl: str | None = None) -> dict[str, Any]:
    """A text block whose source without marker is `size` bytes long."""
    block: dict[str, Any] = {"type": "text", "text": name}
    block["text"] = name.ljust(size - len(compact(block)) + len(name), ".")
    assert len(compact(block)) == size, f"{name} does not fit into {size} bytes"
    return block | ({"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {})


@dataclass
class Sent:
    """One request of a capture to be."""

    body: dict[str, Any] | str
    at: int = 0
    first_byte: int | None = -1  # -1: one millisecond after the start
    usage: tuple[int, int, int, int] | dict[str, Any] | None = None  # read, write 5m, write 1h, input; or as it is told
    status: int = 200
    path: str = "/v1/messages?beta=true"
    headers: dict[str, str] = field(default_factory=dict)

    def meta(self, n: int) -> dict[str, Any]:
        usage = self.usage if isinstance(self.usage, dict) else None
        if isinstance(self.usage, tuple):
            read, short, long, plain = self.usage
            usage = {
                "input_tokens": plain,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": short + long,
                "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
                "output_tokens": 1,
            }
        return {
            "n": n,
            "at_ms": self.at,
            "first_byte_at_ms": self.at + 1 if self.first_byte == -1 else self.first_byte,
            "method": "POST",
            "path": self.path,
            "headers": self.headers,
            "status": self.status,
            "usage": usage,
            "message_id": None,
        }


def write_capture(directory: Path, sent: list[Sent]) -> Path:
    for n, one in enumerate(sent, 1):
        body = one.body if isinstance(one.body, str) else compact(one.body)
        (directory / f"{n:06}.body.json").write_bytes(body.encode())
        (directory / f"{n:06}.meta.json").write_text(json.dumps(one.meta(n)))
    return directory


def capture(*sent: Sent) -> list[Request]:
    """Writes a capture and reads it back."""
    with tempfile.TemporaryDirectory() as directory:
        return read_capture(write_capture(Path(directory), list(sent)))
