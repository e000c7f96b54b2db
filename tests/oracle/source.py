"""Source of captured bodies: JSON kept as text, JSON as bytes, and one position of a prompt."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any


class BadInput(Exception):
    """The capture cannot be judged."""


# JSON, kept as text.


class Pairs(list[Any]):
    """An object as its (key, value) pairs in source order."""

    def get(self, key: str) -> Any:
        return next((value for name, value in reversed(self) if name == key), None)


@dataclass(frozen=True)
class Number:
    """A number as its source text: `1.0` and `1` are different."""

    text: str


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def parse(raw: bytes) -> Any:
    """Reads JSON; objects become `Pairs` and numbers `Number`."""
    return json.loads(raw, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=refuse_constant)


def dump(value: Any) -> str:
    """Writes compact JSON, keeping key order and number text."""
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key)}:{dump(member)}" for key, member in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return value.text if isinstance(value, Number) else json.dumps(value)


def block_text(block: Any) -> str:
    """Writes a block without cache_control and with its *own* members sorted; everything deeper keeps its order.

    Blocks nested in `content` are treated alike. A schema or an input is no block: a `cache_control` in there is content.
    """
    if not isinstance(block, Pairs):
        return dump(block)
    members = []
    for key, value in sorted(block, key=lambda member: member[0]):
        nested = key == "content" and type(value) is list
        text = "[" + ",".join(map(block_text, value)) + "]" if nested else dump(value)
        members += [f"{json.dumps(key)}:{text}"] if key != "cache_control" else []
    return "{" + ",".join(members) + "}"


# JSON as bytes: a second reading that never re-serialises. The text is known to be valid JSON.

STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
TOKEN = re.compile(STRING.pattern + rb"|[\[\]{},]", re.S)


def split(raw: bytes) -> tuple[list[bytes], bytes]:
    """Splits an array or object into the source of its children (with their white space) and its closing bracket."""
    depth, start, parts = 0, 0, []
    for token in TOKEN.finditer(raw):
        mark = token.group()
        if mark in (b"[", b"{"):
            depth += 1
            start = token.end() if depth == 1 else start
        elif mark in (b"]", b"}", b",") and depth == 1:
            parts.append(raw[start : token.start()])
            start = token.end()
        if mark in (b"]", b"}"):
            depth -= 1
    return [part for part in parts if part.strip()], raw[start - 1 :]


def member(part: bytes) -> tuple[str, bytes]:
    """Splits the source of an object's member into its decoded key and the source of its value."""
    text = part.strip()
    key = STRING.match(text)
    assert key is not None
    return json.loads(key.group()), text[key.end() :].lstrip()[1:].strip()


def children(raw: bytes | None) -> list[bytes]:
    """The elements of an array; anything else has none."""
    return [part.strip() for part in split(raw)[0]] if raw is not None and raw.startswith(b"[") else []


@functools.cache  # a history is sent again and again: each of its elements is read once
def strip_markers(raw: bytes) -> bytes:
    """Cuts cache_control members out of the source of a block or message and leaves all other bytes as they are."""
    if not raw.startswith(b"{"):
        return raw
    parts, end = split(raw)
    kept = []
    for part in parts:
        key, value = member(part)
        if key == "content" and value.startswith(b"["):
            inner, inner_end = split(value)
            blocks = [piece.replace(piece.strip(), strip_markers(piece.strip()), 1) for piece in inner]
            part = part.replace(value, b"[" + b",".join(blocks) + inner_end, 1) if blocks != inner else part
        kept += [part] if key != "cache_control" else []
    if kept == parts:
        return raw
    if kept:
        kept[-1] = kept[-1].rstrip() + parts[-1][len(parts[-1].rstrip()) :]
    return b"{" + b",".join(kept) + end


@dataclass(frozen=True)
class Tool:
    """A tool of a request's array."""

    name: str
    text: str  # what must be equal
    raw: bytes
    deferred: bool


@dataclass(frozen=True)
class Segment:
    """One position of the prompt in reading order."""

    pointer: str
    section: str
    kind: str
    text: str  # what must be equal
    raw: bytes  # source of the block without markers, a string's as that of a block
    ttl: str | None = None  # of its marker
    element: int = 0  # the array element that holds it
    markable: bool = True
    role: str = ""  # of its message
    clears: bool = False  # its message is dropped once a user's follows
    brings: tuple[Tool, ...] = ()  # tools of the array that the block refers to or adds
