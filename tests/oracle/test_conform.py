"""Known verdicts for cells of the matrix of changes."""

from __future__ import annotations

import io
import json
import tempfile
import unittest
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import conform
from cache_model import Rules, bill, counter
from capture_builder import Sent, write_capture
from captured import read_capture

Body = dict[str, Any]
COLUMN = "anthropic-without"
NOTE = "The branch is another now."


def text(words: str, marked: bool = False) -> Body:
    return {"type": "text", "text": words} | ({"cache_control": {"type": "ephemeral"}} if marked else {})


def say(role: str, *words: str) -> Body:
    return {"role": role, "content": [text(one) for one in words]}


def conversation(note: str | None) -> list[Body]:
    """A first task, a message behind a change that is told, and a third message."""
    messages = [say("user", "The task.")]
    bodies = []
    for prompt in ([], ["Next."] + ([note] if note else []), ["Last."]):
        messages += [say("assistant", "Done."), say("user", *prompt)] if prompt else []
        body = {"model": "claude-sonnet-4-6", "system": [text("Rules. " * 900)], "messages": messages}
        bodies.append(json.loads(json.dumps(body)))
    for body in bodies:
        body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return bodies


def write_cell(folder: Path, bodies: list[Body], **about: Any) -> None:
    """Writes a capture with the usage that our own model bills."""
    folder.mkdir(parents=True)
    sent = [Sent(body, at=at * 1_000) for at, body in enumerate(bodies)]
    write_capture(folder, [Sent(one.body, at=one.at, usage=(0, 0, 0, 0)) for one in sent])
    for one, billed in zip(sent, bill(read_capture(folder), Rules(), counter("simulator"))):
        assert billed.expected
        one.usage = (billed.expected.read, billed.expected.write_5m, billed.expected.write_1h, billed.expected.input)
    write_capture(folder, sent)
    cell = {"row": "git", "column": COLUMN, "declared": "kept", "task": 1, "message": [2], "again": [3], "goes_back": False}
    cell["loses_on"] = False
    cell |= {"prompt": "Next.", "again_prompt": "Last.", "told": [NOTE], "says_nothing": False, "changes": []}
    (folder / "cell.json").write_text(json.dumps(cell | about))


def judged(change: Callable[[list[Body]], Any], report: Body, **about: Any) -> list[str]:
    """Judges a cell that was changed, or what was reported of it."""
    with tempfile.TemporaryDirectory() as directory:
        write_cell(Path(directory) / "unchanged" / COLUMN, conversation(None), row="unchanged", told=[], says_nothing=True)
        folder, bodies = Path(directory) / "git" / COLUMN, conversation(NOTE)
        change(bodies)
        write_cell(folder, bodies, **about)
        cell = {"row": "git", "column": COLUMN, "declared": "kept", "old_prefix_kept": 1.0, "cached_share": 1.0, "expected_share": 1.0}
        cell |= {"told": True, "source": None, "ok": True, "capture": str(folder)}
        return conform.compare(cell | report)


def edit(request: int, message: int, words: str) -> Callable[[list[Body]], Any]:
    return lambda bodies: bodies[request]["messages"][message]["content"][0].update(text=words)


def withdraw(tool: str) -> Callable[[list[Body]], Any]:
    """Withdraws a tool behind the second message; there is one, `read`."""
    change = {"role": "system", "content": [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": tool}}]}

    def edited(bodies: list[Body]) -> None:
        for at, body in enumerate(bodies):
            body["tools"] = [{"name": "read", "input_schema": {}}]
            if at:
                body["messages"].insert(3, change)

    return edited


class Cells(unittest.TestCase):
    CASES: tuple[tuple[str, Callable[[list[Body]], Any], Body, Body, list[str]], ...] = (
        ("all is well", lambda bodies: None, {}, {}, []),
        ("the old prompt was edited", edit(1, 0, "The tasks."), {}, {}, ["kept 0.5000, read", "old_prefix_kept is reported as 1.0, and is 0.5"]),
        ("… later", edit(2, 0, "The tasks."), {}, {}, ["the third message does not keep and read all"]),
        ("the system prompt was edited", lambda bodies: bodies[1]["system"][0].update(text="Rule. " * 900), {}, {}, ["kept 0.0000, read 0.0000"]),
        ("spelt otherwise", lambda bodies: bodies[1]["messages"][0].update(content="The task."), {}, {}, ["old_prefix_kept is reported as 1.0, and is 0.5"]),
        ("never told", lambda bodies: [body["messages"][2]["content"].pop() for body in bodies[1:]], {}, {}, ["is told 0 times with the message"]),
        ("told twice", lambda bodies: bodies[2]["messages"][-1]["content"].append(text(NOTE)), {}, {}, ["1 times with the message and 2 times in the end"]),
        ("something is told that nobody needs", lambda bodies: None, {"told": None}, {"told": [], "says_nothing": True}, ["request 2 says more"]),
        ("a loss that was declared is none", lambda bodies: None, {"declared": "planned", "source": "why"}, {"declared": "planned"}, ["but nothing is lost"]),
        ("a limit without a source", lambda bodies: None, {"declared": "provider-limited"}, {"declared": "provider-limited"}, ["a loss without a source"]),
        ("another share was reported", lambda bodies: None, {"cached_share": 0.9}, {}, ["cached_share is reported as 0.9, and is 1.0"]),
        ("another verdict was reported", lambda bodies: None, {"ok": False}, {}, ["reported as not as declared"]),
        ("tools are not changed as declared", lambda bodies: None, {}, {"changes": ["-read"]}, ["request 2 changes tools by [], and is declared to by ['-read']", "request 3 changes tools"]),
        ("none of a kind is changed", lambda bodies: None, {}, {"changes": ["-re*"]}, ["request 2 changes tools by [], and is declared to by ['-re*']", "request 3 changes tools"]),
        ("a tool is withdrawn unasked", withdraw("read"), {}, {}, ["request 2 changes tools by ['-read']", "without the beta"]),
        ("a tool is withdrawn that is not there", withdraw("gone"), {}, {"changes": ["-gone"]}, ["`gone` does not stand in the array"]),
        ("another row was reported", lambda bodies: None, {"row": "date"}, {}, ["the capture is of row `git`"]),
    )

    def test_each_cell_has_its_verdict(self) -> None:
        for name, change, report, about, expected in self.CASES:
            with self.subTest(name):
                found = judged(change, report, **about)
                if not expected:
                    self.assertEqual(found, [])
                for words in expected:
                    self.assertTrue(any(words in finding for finding in found), found)

    def test_nothing_is_no_success(self) -> None:
        with tempfile.TemporaryDirectory() as directory, redirect_stdout(io.StringIO()):
            report = Path(directory) / "report.json"
            report.write_text('{"schema_version":1,"cells":[]}')
            self.assertEqual(conform.main(str(report)), 1)


if __name__ == "__main__":
    unittest.main()
