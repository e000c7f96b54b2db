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

import chat
from source import BadInput, Number, Pairs, Segment, Tool, block_text, children, member, parse, split, strip_markers

UNMARKABLE = {"thinking", "redacted_thinking"}
__all__ = ["BadInput", "Number", "Pairs", "Request", "Segment", "parse", "read_capture", "strip_markers"]
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
        if value.get("type") == "tool_removal":
            return  # shows nothing
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


def read_block(pointer: str, section: str, raw: bytes, front: str, element: int, tools: dict[str, Tool]) -> Segment:
    """Reads one block; a plain string is one text block, and a tool_reference stands for the tool it names."""
    raw = b'{"type":"text","text":' + raw + b"}" if raw.startswith(b'"') else raw
    block, normal = read_source(raw)
    if not isinstance(block, Pairs):
        raise BadInput(f"{pointer} is neither a block nor a string")
    kind = "tool" if section == "tools" else str(block.get("type"))
    brings = tuple(tools[name] for name in references(block) if name in tools)
    expanded = "".join(tool.text for tool in brings if tool.deferred)
    text = sys.intern(f"{section}|{front}|{normal}{expanded}")
    markable = kind not in UNMARKABLE and not (kind == "text" and not block.get("text"))
    return Segment(pointer, section, kind, text, strip_markers(raw), marker(block), element, markable, brings=brings)


def read_message(index: int, raw: bytes, element: int, tools: dict[str, Tool]) -> Iterator[Segment]:
    """Reads a message; its first block also stands for where it begins and for its members besides role and content."""
    start, array, blocks, clears = split_message(raw)
    role = start.split("+", 1)[0]
    where = f"/messages/{index}/content"
    for number, block in enumerate(blocks):
        one = read_block(f"{where}/{number}" if array else where, "messages", block, role if number else start, element, tools)
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
    known: dict[str, Tool] = {}
    for _, tool, read in tools:
        name = str(read.get("name"))
        known[name] = Tool(name, block_text(read), tool, read.get("defer_loading") is True)
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
        add(f"/messages/{index}", message, list(read_message(index, message, len(elements), known)))
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
    if meta["method"] != "POST" or not path.endswith(("/messages", "/chat/completions")):
        return None
    body = parse(raw)
    if not isinstance(body, Pairs):
        raise BadInput("the body is no object")
    if path.endswith("/messages"):
        segments, elements = read_body(raw)
        betas = sorted(filter(None, re.split(r"[,\s]+", meta.get("headers", {}).get("anthropic-beta", ""))))
        lane = [("path", path), ("betas", ",".join(betas))]
        lane += [(key, block_text(value)) for key in LANE_FIELDS if (value := body.get(key)) is not None]
    else:
        segments, elements = chat.read_chat(raw)
        lane = [("path", path), *chat.lane(body)]
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
