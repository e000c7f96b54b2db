"""Captured requests as plain text: the body's blocks in the provider's reading order, and their source bytes."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

UNMARKABLE = {"thinking", "redacted_thinking"}
LANE_FIELDS = (
    "model",
    "thinking",
    "output_config",
    "output_format",
    "tool_choice",
    "speed",
    "inference_geo",
    "context_management",
    "mcp_servers",
)


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


# Requests.


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


@dataclass
class Request:
    """One captured request; times in milliseconds."""

    n: int
    at: int
    first_byte: int | None
    status: int | None
    usage: dict[str, Any] | None
    model: str
    lane: tuple[tuple[str, str], ...]
    segments: list[Segment]
    elements: list[tuple[str, bytes]] = field(default_factory=list)
    opens: bool = True  # no assistant turn yet
    messages_key: str = ""  # what else the messages of a prompt must have in common

    @property
    def head(self) -> int:
        """How many segments are tools and system."""
        return sum(segment.section != "messages" for segment in self.segments)

    @property
    def began(self) -> bool:
        """Whether the provider took the request and began to answer."""
        return self.status in (200, None) and self.first_byte is not None

    @property
    def marked(self) -> list[int]:
        """Which segments carry a marker."""
        return [index for index, segment in enumerate(self.segments) if segment.ttl]

    def chain(self) -> list[str]:
        """Cumulative digests: entry k stands for the first k segments in this lane."""
        links = [hashlib.sha256(repr(self.lane).encode()).hexdigest()]
        for segment in self.segments:
            key = self.messages_key if segment.section == "messages" else ""
            links.append(hashlib.sha256((links[-1] + key + segment.text).encode(errors="surrogatepass")).hexdigest())
        return links


def references(value: Any) -> Iterator[str]:
    """Names of the tools that a block expands in place."""
    if isinstance(value, Pairs):
        if value.get("type") == "tool_reference":
            yield str(value.get("tool_name") or value.get("name"))
        for key, inner in value:
            yield from references(inner) if key != "input" else ()
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def marker(block: Pairs) -> str | None:
    """The TTL of a block's marker; unknown TTLs count as 5m."""
    control = block.get("cache_control")
    return None if not isinstance(control, Pairs) else ("1h" if control.get("ttl") == "1h" else "5m")


@functools.cache
def read_source(raw: bytes) -> tuple[Any, str]:
    """Reads the source of a block, and writes it as what must be equal."""
    block = parse(raw)
    return block, block_text(block)


@functools.cache
def split_message(raw: bytes) -> tuple[str, bool, list[bytes], bool]:
    """Splits a message into what stands in front of its blocks, whether it has an array, the blocks' source, and whether it clears."""
    members = dict(member(part) for part in split(raw)[0])
    extra = block_text(Pairs((key, parse(value)) for key, value in members.items() if key not in ("role", "content")))
    content = members["content"]
    array = content.startswith(b"[")
    clears = members.get("clear_at") == b'"next_user_message"'
    return f"{parse(members['role'])}+{extra}", array, children(content) if array else [content], clears


def read_block(pointer: str, section: str, raw: bytes, front: str, element: int, deferred: dict[str, str]) -> Segment:
    """Reads one block; a plain string is one text block, and a tool_reference stands for the tool it names."""
    raw = b'{"type":"text","text":' + raw + b"}" if raw.startswith(b'"') else raw
    block, normal = read_source(raw)
    if not isinstance(block, Pairs):
        raise BadInput(f"{pointer} is neither a block nor a string")
    kind = "tool" if section == "tools" else str(block.get("type"))
    expanded = "".join(deferred.get(name, "") for name in references(block))
    text = sys.intern(f"{section}|{front}|{normal}{expanded}")
    markable = kind not in UNMARKABLE and not (kind == "text" and not block.get("text"))
    return Segment(pointer, section, kind, text, strip_markers(raw), marker(block), element, markable)


def read_message(index: int, raw: bytes, element: int, deferred: dict[str, str]) -> Iterator[Segment]:
    """Reads a message; its first block also stands for where it begins and for its members besides role and content."""
    start, array, blocks, clears = split_message(raw)
    role = start.split("+", 1)[0]
    where = f"/messages/{index}/content"
    for number, block in enumerate(blocks):
        one = read_block(f"{where}/{number}" if array else where, "messages", block, role if number else start, element, deferred)
        yield dataclasses.replace(one, role=role, clears=clears)
    if not blocks:
        yield Segment(where, "messages", "empty", f"messages|{start}|", b"", None, element, False, role, clears)


def read_body(raw: bytes) -> tuple[list[Segment], list[tuple[str, bytes]]]:
    """Reads tools (deferred ones stand outside), then system, then messages: as segments and as elements' source."""
    members = [member(part) for part in split(raw)[0]]
    body = dict(members)
    if len(body) < len(members):
        raise BadInput("a top-level key is given twice")
    if "thread" in body:
        raise BadInput("a thread request holds only the new messages and cannot be judged alone")
    tools = [(index, tool, parse(tool)) for index, tool in enumerate(children(body.get("tools")))]
    deferred = {str(read.get("name")): block_text(read) for _, _, read in tools if read.get("defer_loading") is True}
    segments: list[Segment] = []
    elements: list[tuple[str, bytes]] = []

    def add(pointer: str, source: bytes, found: list[Segment]) -> None:
        segments.extend(found)
        elements.append((pointer, strip_markers(source)))

    for index, tool, read in tools:
        if read.get("defer_loading") is not True:
            add(f"/tools/{index}", tool, [read_block(f"/tools/{index}", "tools", tool, "", len(elements), {})])
    system = body.get("system", b"[]")
    for index, block in enumerate(children(system) if system.startswith(b"[") else [system]):
        add(f"/system/{index}", block, [read_block(f"/system/{index}", "system", block, "", len(elements), {})])
    for index, message in enumerate(children(body["messages"])):
        add(f"/messages/{index}", message, list(read_message(index, message, len(elements), deferred)))
    mark_automatically(segments, body)
    return segments, elements


def mark_automatically(segments: list[Segment], body: dict[str, bytes]) -> None:
    """Puts the marker of a top-level cache_control on the last block that can bear one."""
    automatic = marker(Pairs([("cache_control", parse(body.get("cache_control", b"null")))]))
    last = max((index for index, one in enumerate(segments) if one.markable), default=None)
    if automatic and last is not None and segments[last].ttl is None:
        segments[last] = dataclasses.replace(segments[last], ttl=automatic)


def read_request(body_path: Path) -> Request | None:
    """Reads one captured pair; what is no model call (token counts, probes) is skipped."""
    meta = json.loads(body_path.with_name(body_path.name.replace(".body.", ".meta.")).read_bytes())
    path, raw = str(meta["path"]).split("?")[0], body_path.read_bytes().strip()
    if meta["method"] != "POST" or not path.endswith("/messages"):
        return None
    body = parse(raw)
    if not isinstance(body, Pairs):
        raise BadInput("the body is no object")
    segments, elements = read_body(raw)
    betas = sorted(filter(None, re.split(r"[,\s]+", meta.get("headers", {}).get("anthropic-beta", ""))))
    lane = [("path", path), ("betas", ",".join(betas))]
    lane += [(key, block_text(value)) for key in LANE_FIELDS if (value := body.get(key)) is not None]
    opens = all(message.get("role") != "assistant" for message in body.get("messages"))
    return Request(
        meta["n"],
        meta["at_ms"],
        meta["first_byte_at_ms"],
        meta["status"],
        meta["usage"],
        str(body.get("model")),
        tuple(lane),
        segments,
        elements,
        opens,
    )


def read_capture(directory: Path) -> list[Request]:
    """Reads a capture in the order in which the requests were started."""
    requests = []
    for path in sorted(directory.glob("*.body.json")):
        try:
            requests.append(read_request(path))
        except (OSError, LookupError, AttributeError, TypeError, ValueError, RecursionError, BadInput) as error:
            raise BadInput(f"{path.name}: {type(error).__name__}: {error}") from error
    found = [request for request in requests if request is not None]
    if not found:
        raise BadInput(f"{directory}: no captured model request")
    return sorted(found, key=lambda request: (request.at, request.n))
