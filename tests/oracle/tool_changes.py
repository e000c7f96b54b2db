"""Tools that a system message offers and withdraws in the midst of a conversation, held to the provider's page.

Read from platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (August 2026) and the types of the
`anthropic` SDK 2.14.0: a tool of the array is offered from the start unless it is deferred; a `tool_reference` in a result
and a `tool_addition` offer it, a `tool_removal` withdraws it; what is named must stand in the array. The page does not say
what becomes of the removal of a tool that is not offered, or of an addition of one that is: neither says anything, so both
count as findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from source import Pairs, children, member, parse, split

BETA = "mid-conversation-tool-changes-2026-07-01"
SIGN = {"tool_addition": "+", "tool_removal": "-"}


@dataclass
class Read:
    """What one body does with its tools."""

    changes: list[tuple[int, str]]  # the message, and `+NAME` or `-NAME`, in order
    offered: set[str]  # in the end
    findings: list[str]


def read(raw: bytes, betas: str) -> Read:
    """Goes through a body from the array to the last message."""
    body = dict(member(part) for part in split(raw)[0])
    tools = [parse(tool) for tool in children(body.get("tools"))]
    names = {str(tool.get("name")) for tool in tools}
    found = Read([], {str(tool.get("name")) for tool in tools if tool.get("defer_loading") is not True}, [])
    messages = [parse(message) for message in children(body["messages"])]
    for index, message in enumerate(messages):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, Pairs):
                continue
            if block.get("type") in SIGN:
                found.findings += [f"message {index}: {text}" for text in apply(found, block, index, names)]
                found.findings += [f"message {index}: {text}" for text in misplaced(messages, index)]
            else:
                found.offered |= set(expanded(block)) & names
    if found.changes and BETA not in betas.split(","):
        found.findings.append(f"tools are changed without the beta {BETA}")
    return found


def apply(found: Read, block: Pairs, index: int, names: set[str]) -> Iterator[str]:
    kind, tool = str(block.get("type")), block.get("tool")
    name = tool.get("name") if isinstance(tool, Pairs) and tool.get("type") == "tool_reference" else None
    if not isinstance(name, str):
        yield f"a {kind} names no tool"
        return
    if name not in names:
        yield f"`{name}` does not stand in the array"
    if (name in found.offered) is (kind == "tool_addition"):
        yield f"a {kind} of `{name}` says nothing new"
    found.changes.append((index, SIGN[kind] + name))
    (found.offered.add if kind == "tool_addition" else found.offered.discard)(name)


def misplaced(messages: list[Any], index: int) -> Iterator[str]:
    """Behind a user's turn, and in front of the model's, or last; system messages in a row count as one."""
    roles = [str(message.get("role")) for message in messages]
    before = [role for role in roles[:index] if role != "system"]
    after = [role for role in roles[index + 1 :] if role != "system"]
    if roles[index] != "system":
        yield f"the {roles[index]} changes tools"
    if before[-1:] != ["user"] or after[:1] not in ([], ["assistant"]):
        yield "tools are changed where no system message may stand"


def expanded(block: Pairs) -> Iterator[str]:
    """The tools that a result shows."""
    content = block.get("content")
    inner = content.get("tool_references") if isinstance(content, Pairs) else content
    for item in inner if isinstance(inner, list) else []:
        if isinstance(item, Pairs) and item.get("type") == "tool_reference":
            yield str(item.get("tool_name"))
