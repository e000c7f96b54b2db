"""Captured bodies of Chat Completions: tools and messages in the order in which chat templates read them."""

from __future__ import annotations

from typing import Any

from source import BadInput, Pairs, Segment, block_text, children, member, parse, split

LANE_FIELDS = (
    "model",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "chat_template_kwargs",
    "prompt_cache_key",
    "cache_salt",
)


def read_chat(raw: bytes) -> tuple[list[Segment], list[tuple[str, bytes]]]:
    """Reads tools, then messages, each as one segment; system messages in front of all others are the head."""
    members = [member(part) for part in split(raw)[0]]
    body = dict(members)
    if len(body) < len(members):
        raise BadInput("a top-level key is given twice")
    segments = [segment(f"/tools/{at}", "tools", tool, at) for at, tool in enumerate(children(body.get("tools")))]
    head = True
    for at, message in enumerate(children(body["messages"])):
        head = head and parse(message).get("role") in ("system", "developer")
        segments.append(segment(f"/messages/{at}", "system" if head else "messages", message, len(segments)))
    return segments, [(one.pointer, one.raw) for one in segments]


def segment(pointer: str, section: str, raw: bytes, element: int) -> Segment:
    """One element; a plain text is the same as one text part."""
    value = parse(raw)
    if not isinstance(value, Pairs):
        raise BadInput(f"{pointer} is no object")
    role = str(value.get("role"))
    text = block_text(Pairs((key, parts(inner) if key == "content" else inner) for key, inner in value))
    is_tool = section == "tools"
    kind, front = ("tool", "tool") if is_tool else (role, "message")
    return Segment(pointer, section, kind, f"{front}|{text}", raw, None, element, role=role)


def parts(content: Any) -> Any:
    return [Pairs([("type", "text"), ("text", content)])] if isinstance(content, str) else content


def lane(body: Pairs) -> list[tuple[str, str]]:
    """What a request must have in common with another to share a prompt."""
    return [(key, block_text(value)) for key in LANE_FIELDS if (value := body.get(key)) is not None]
