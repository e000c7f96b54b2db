"""Known verdicts for captures of Chat Completions."""

from __future__ import annotations

import io
import json
import tempfile
import unittest
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import oracle
from capture_builder import Sent, capture, compact, write_capture
from chat_model import PIECES, bill, prompt
from lineage import extends
from source import parse

Body = dict[str, Any]


def say(role: str, words: Any, **more: Any) -> Body:
    return {"role": role, "content": words, **more}


def call(name: str, arguments: str) -> Body:
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": arguments}}


def first() -> Body:
    """One tool and one system message, then a user's message, two calls and their results: six segments."""
    return {
        "model": "m",
        "messages": [
            say("system", "You are."),
            say("user", "Read a and b."),
            say("assistant", None, tool_calls=[call("1", '{"path":"a"}'), call("2", '{"path":"b"}')]),
            say("tool", "A", tool_call_id="1"),
            say("tool", "B", tool_call_id="2"),
        ],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object", "required": ["path"]}}}],
        "stream": True,
    }


def second() -> Body:
    body = json.loads(compact(first()))
    body["messages"] += [say("assistant", "Done."), say("user", "Thanks.")]
    return body


def sent(body: Body | str, **more: Any) -> Sent:
    return Sent(body, path="/v1/chat/completions", **more)


def edited(change: Callable[[Body], Any]) -> Body:
    body = second()
    change(body)
    return body


class Extends(unittest.TestCase):
    CASES: tuple[tuple[str, Callable[[Body], Any], tuple[str, int, bool | None]], ...] = (
        ("nothing", lambda body: None, ("extends", 6, True)),
        ("parameters that are not read", lambda body: body.update(temperature=0.5, max_tokens=9, stream=False), ("extends", 6, True)),
        ("the last message moved on", lambda body: body["messages"].pop(), ("extends", 6, True)),
        ("a string became a part", lambda body: body["messages"][1].update(content=[{"type": "text", "text": "Read a and b."}]), ("extends", 6, False)),
        ("a tool was added", lambda body: body["tools"].append({"type": "function", "function": {"name": "x"}}), ("diverges", 1, None)),
        ("the tool's schema changed", lambda body: body["tools"][0]["function"]["parameters"].update(required=[]), ("diverges", 0, None)),
        ("the system message changed", lambda body: body["messages"][0].update(content="You were."), ("diverges", 1, None)),
        ("arguments were written anew", lambda body: body["messages"][2]["tool_calls"][0]["function"].update(arguments='{"path": "a"}'), ("branches", 3, True)),
        ("results changed places", lambda body: body["messages"].insert(3, body["messages"].pop(4)), ("branches", 4, True)),
        ("reasoning was added", lambda body: body["messages"][2].update(reasoning_content="Hm."), ("branches", 3, True)),
        ("a system message came between", lambda body: body["messages"].insert(2, say("system", "x")), ("branches", 3, True)),
        ("another model", lambda body: body.update(model="n"), ("moved", 6, None)),
        ("another cache key", lambda body: body.update(prompt_cache_key="k"), ("moved", 6, None)),
    )

    def test_each_change_has_its_verdict(self) -> None:
        for name, change, expect in self.CASES:
            with self.subTest(name):
                one = extends(capture(sent(first()), sent(edited(change), at=1)))[1]
                self.assertEqual((one.verdict, one.shared, one.bytes_equal), expect)

    def test_white_space_is_a_difference_of_bytes_alone(self) -> None:
        spaced = compact(second()).replace('"role":"user"', '"role": "user"', 1)
        one = extends(capture(sent(first()), sent(spaced, at=1)))[1]
        self.assertEqual((one.verdict, one.bytes_equal, one.ok), ("extends", False, False))

    def test_a_bill_by_markers_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            directory = write_capture(Path(folder), [sent(first())])
            for command in ("bill", "perfect"):
                with self.subTest(command), redirect_stderr(io.StringIO()) as said:
                    self.assertEqual(oracle.main([command, str(directory)]), 2)
                    self.assertIn("judge them with `engine`", said.getvalue())

    def test_dialects_are_lanes_of_their_own(self) -> None:
        other = {"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
        self.assertEqual(extends(capture(sent(first()), Sent(other, at=1)))[1].verdict, "moved")


class Tokens(unittest.TestCase):
    PIECES = (
        ("", []),
        ("abcdefg", ["abcdef", "g"]),
        (" abcdefg", [" abcdef", "g"]),
        ("two  words", ["two", "  ", "words"]),
        ("a \n\t b", ["a", " \n\t ", "b"]),
        ("        x", ["       ", " x"]),
        ('{"é€😀"}', ["{", '"', "é", "€", "😀", '"', "}"]),
    )
    # A user's message is START, user, line feed, END and its words; the end START, assist, ant, line feed.
    PROMPTS: tuple[tuple[str, str, int], ...] = (
        ("append-only", '{"messages":[{"role":"user","content":"a b"}]}', 4 + 2 + 4),
        ("append-only", '{"messages":[{"role":"system","content":"x"},{"role":"user","content":"a"}]}', 5 + 5 + 4),
        ("append-only", '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}', 4 + 1_500 + 4),
        ("dated", '{"messages":[{"role":"user","content":"a"}]}', 4 + 3 + 5 + 2 + 5 + 4),
        ("append-only", '{"tools":[{"a" : 1.0}],"messages":[{"role":"user","content":"a"}]}', 4 + 2 + 9 + 1 + 5 + 4),
        ("tools-late", '{"tools":[{"a" : 1.0}],"messages":[{"role":"user","content":"a"}]}', 2 + 9 + 1 + 5 + 4),
        ("append-only", '{"messages":[{"role":"assistant","content":"b","reasoning":"c"},{"role":"user","content":"a"}]}', 5 + 3 + 1 + 5 + 4),
        ("reasoning-stripping", '{"messages":[{"role":"assistant","content":"b","reasoning":"c"},{"role":"user","content":"a"}]}', 5 + 1 + 5 + 4),
        ("tools-late", '{"messages":[{"role":"tool","tool_call_id":"abc","content":"a"},{"role":"user","content":"a"}]}', 4 + 1 + 1 + 5 + 4),
    )

    def test_texts_are_cut(self) -> None:
        for text, pieces in self.PIECES:
            with self.subTest(text):
                self.assertEqual(PIECES.findall(text), pieces)

    def test_prompts_are_rendered(self) -> None:
        for template, body, tokens in self.PROMPTS:
            with self.subTest(f"{template} {body}"):
                self.assertEqual(len(prompt(parse(body.encode()), template, 0)), tokens)


class Engines(unittest.TestCase):
    """A prompt of 40 tokens, then the same with its answer `ok`, its end and nine tokens more."""

    CASES: tuple[tuple[str, int, list[str]], ...] = (
        ("vllm", 32, []),
        ("vllm", 16, ["read: expected 32 tokens, told 16"]),
        ("vllm", 48, ["read: expected 32 tokens, told 48"]),
        ("llamacpp", 41, []),
        ("llamacpp", 40, ["read: expected 41 tokens, told 40"]),
        ("llamacpp", 42, ["read: expected 41 tokens, told 42"]),
        ("openai-legacy", 0, []),
        ("openai-legacy", 32, ["read: expected 0 tokens, told 32"]),
    )

    def test_reads_are_judged(self) -> None:
        user = say("user", " a" * 32)
        for profile, cached, expect in self.CASES:
            with self.subTest(f"{profile} {cached}"):
                usage = [{"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}]
                usage.append({"prompt_tokens": 51, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": cached}})
                bodies = [[user], [user, say("assistant", "ok"), say("user", "a")]]
                requests = [sent({"messages": body}, at=at * 10, usage=told) for at, (body, told) in enumerate(zip(bodies, usage))]
                with tempfile.TemporaryDirectory() as folder:
                    bills = bill(write_capture(Path(folder), requests), profile, "append-only", 8_192, 4, exact=True)
                self.assertEqual([one.findings for one in bills], [[], expect])


if __name__ == "__main__":
    unittest.main()
