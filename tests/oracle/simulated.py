"""Tokens as the simulator counts them, from docs/formats/simulator.md alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from captured import BadInput, Number, Pairs, Segment, parse
from source import Tool

IMAGE_TOKENS = 1_500
BLOCK_TOKENS = 4
UNIT = "\x1f"


def tokens(one: Segment) -> int:
    """Tokens of one block; its source has no markers."""
    if not one.raw:
        raise BadInput(f"{one.pointer}: an empty message has no block that could be counted")
    block = parse(one.raw)
    held = images(block)
    if held and one.section != "tools":
        return held * IMAGE_TOKENS + BLOCK_TOKENS
    tools = {tool.name: tool for tool in one.brings}
    return -(-2 * len(render(block, one.section == "tools", tools).encode()) // 7) + BLOCK_TOKENS


def images(block: Pairs) -> int:
    """How many images a block is or holds in its result."""
    content = block.get("content")
    inner = content if str(block.get("type")).endswith("tool_result") and type(content) is list else []
    return (block.get("type") == "image") + sum(images(item) for item in inner)


def render(block: Pairs, tool: bool = False, tools: Mapping[str, Tool] = MappingProxyType({})) -> str:
    """The text of a block; `tools` are those it refers to or adds."""
    kind = block.get("type")
    if tool:
        return members(block, {"defer_loading", *(["type"] if kind == "custom" else [])})
    if kind == "text" and all(value is None or key in ("type", "text", "cache_control") for key, value in block):
        return str(block.get("text"))
    if kind in ("tool_result", "tool_search_tool_result"):
        return result(block, tools)
    if kind == "tool_reference":
        return definition(block.get("tool_name"), tools)
    if kind == "tool_addition":
        added = block.get("tool")
        name = added.get("name") if isinstance(added, Pairs) and added.get("type") == "tool_reference" else None
        shown = name is not None and (name not in tools or tools[name].deferred)
        return members(block, set()) + (definition(name, tools) if shown else "")
    return members(block, set())


def definition(name: Any, tools: Mapping[str, Tool]) -> str:
    """The definition that a name stands for, rendered."""
    if name not in tools:
        raise BadInput(f"the definition of `{name}` stands elsewhere, and is not there")
    return render(parse(tools[name].raw), tool=True)


def result(block: Pairs, tools: Mapping[str, Tool]) -> str:
    """The members of a tool's result, then its content."""
    content = block.get("content")
    text = members(block, {"content", *(["is_error"] if block.get("is_error") is False else [])})
    if isinstance(content, str):
        return text + content
    if isinstance(content, Pairs):
        if content.get("tool_references") is None:
            return text + members(content, set())
        content = content.get("tool_references")
    for index, item in enumerate(content or []):
        front = f"{UNIT}{item.get('type')}{UNIT}" if index or item.get("type") != "text" else ""
        text += front + render(item, tools=tools)
    return text


def members(block: Pairs, without: set[str]) -> str:
    """An object's members in the order of their names; none is null."""
    left_out = without | {"cache_control"}
    kept = sorted((pair for pair in block if pair[1] is not None and pair[0] not in left_out), key=lambda pair: pair[0].encode())
    return "".join(f"{key}={write(value)}\n" for key, value in kept)


def write(value: Any) -> str:
    """A value as it is after parsing; keys stay in the order sent, numbers keep their text."""
    if isinstance(value, Pairs):
        return "{" + "".join(f"{write(key)}:{write(inner)}," for key, inner in value) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{write(inner)}," for inner in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Number):
        return value.text
    return {None: "null", True: "true", False: "false"}[value]
