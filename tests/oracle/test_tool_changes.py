"""What one body does with its tools, worked out by hand."""

from __future__ import annotations

import json
import unittest
from typing import Any

import tool_changes

OPEN, LATE = {"name": "open"}, {"name": "late", "defer_loading": True}
USER, MODEL = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}
FOUND = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "tool_reference", "tool_name": "late"}]}]}


def system(*changes: str, role: str = "system") -> dict[str, Any]:
    """`+NAME` adds and `-NAME` removes a tool; anything else is a text."""
    kinds = {sign: kind for kind, sign in tool_changes.SIGN.items()}
    block = lambda change: {"type": kinds[change[0]], "tool": {"type": "tool_reference", "name": change[1:]}}
    return {"role": role, "content": [block(one) if one[0] in kinds else {"type": "text", "text": one} for one in changes]}


class Changes(unittest.TestCase):
    CASES: tuple[tuple[str, list[dict[str, Any]], list[str], set[str], list[str]], ...] = (
        ("nothing", [USER], [], {"open"}, []),
        ("a text", [USER, system("words")], [], {"open"}, []),
        ("added", [USER, system("words", "+late")], ["+late"], {"open", "late"}, []),
        ("withdrawn and back", [USER, system("-open"), MODEL, USER, system("+open")], ["-open", "+open"], {"open"}, []),
        ("found and withdrawn", [USER, MODEL, FOUND, system("-late")], ["-late"], {"open"}, []),
        ("found", [USER, MODEL, FOUND], [], {"open", "late"}, []),
        ("added twice", [USER, system("+late", "+late")], ["+late", "+late"], {"open", "late"}, ["says nothing new"]),
        ("never offered", [USER, system("-late")], ["-late"], {"open"}, ["says nothing new"]),
        ("not there", [USER, system("-gone")], ["-gone"], {"open"}, ["`gone` does not stand in the array", "says nothing new"]),
        ("by the user", [system("-open", role="user")], ["-open"], set(), ["the user changes tools", "where no system message"]),
        ("in front of all", [system("-open"), USER], ["-open"], set(), ["where no system message"]),
        ("behind the model", [USER, MODEL, system("-open")], ["-open"], set(), ["where no system message"]),
        ("two in a row", [USER, system("words"), system("-open"), MODEL, USER], ["-open"], set(), []),
    )

    def test_each_body_is_read(self) -> None:
        for name, messages, changes, offered, findings in self.CASES:
            with self.subTest(name):
                read = tool_changes.read(json.dumps({"tools": [OPEN, LATE], "messages": messages}).encode(), "a," + tool_changes.BETA)
                self.assertEqual(([change for _, change in read.changes], read.offered), (changes, offered))
                self.assertEqual(len(read.findings), len(findings), read.findings)
                self.assertTrue(all(words in found for words, found in zip(findings, read.findings)), read.findings)

    def test_the_beta_is_asked_for(self) -> None:
        raw = json.dumps({"tools": [OPEN], "messages": [USER, system("-open")]}).encode()
        self.assertEqual(tool_changes.read(raw, "").findings, ["tools are changed without the beta " + tool_changes.BETA])

    def test_a_tool_has_to_be_named(self) -> None:
        raw = json.dumps({"tools": [OPEN], "messages": [USER, {"role": "system", "content": [{"type": "tool_removal", "tool_name": "open"}]}]}).encode()
        self.assertEqual(tool_changes.read(raw, tool_changes.BETA).findings, ["message 1: a tool_removal names no tool"])


if __name__ == "__main__":
    unittest.main()
