"""Known verdicts for small captures: every way to keep a prefix, and every way to lose it."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import random
import tempfile
import unittest
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import articles
import oracle
from capture_builder import Sent, capture, compact, sized, write_capture
from captured import strip_markers
from fractions import Fraction
from lineage import extends
from perfect import Prices

Body = dict[str, Any]
MARK = {"type": "ephemeral"}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def tool(name: str, **more: Any) -> Body:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "number", "maximum": 2.5}}}
    return {"name": name, "description": f"{name} a file", "input_schema": schema, **more}


def first() -> Body:
    """Four segments of head, then a user turn, thinking, a tool call and its result: eight."""
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a", "limit": 2, "paths": [{"c": 1, "d": 2}, "b"]}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [text("café", cache_control=MARK)]}
    return {
        "model": "claude-opus-5-5",
        "messages": [
            {"role": "user", "content": "Read a."},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s", "citations": [{"a": 2, "b": 1}]}, call],
            },
            {"role": "user", "content": [result]},
        ],
        "system": [text("You are."), text("Rules.", cache_control=MARK)],
        "tools": [tool("Read"), tool("Edit"), tool("Late", defer_loading=True)],
        "max_tokens": 9,
        "stream": True,
    }


def second() -> Body:
    """The first one and a round more: ten segments."""
    body = first()
    body["messages"] += [
        {"role": "assistant", "content": [text("Done.")]},
        {"role": "user", "content": [text("Thanks.", cache_control=MARK)]},
    ]
    return body


def reverse(pairs: Body) -> Body:
    return dict(reversed(pairs.items()))


def put(path: str, value: Any) -> Callable[[Body], None]:
    """An edit that sets the value at a path; a function is applied to what is there."""

    def edit(body: Body) -> None:
        *way, last = [int(step) if step.lstrip("-").isdigit() else step for step in path.split("/")]
        target: Any = body
        for step in way:
            target = target[step]
        target[last] = value(target[last]) if callable(value) else value

    return edit


def insert(path: str, at: int, value: Any) -> Callable[[Body], None]:
    return put(path, lambda items: items[:at] + [value] + items[at:])


def remove(path: str, at: int) -> Callable[[Body], None]:
    return put(path, lambda items: items[:at] + items[at + 1 :])


def raw(old: str, new: str) -> Callable[[Body], str]:
    """An edit of the source."""

    def edit(body: Body) -> str:
        source = compact(body)
        assert old in source, old
        return source.replace(old, new, 1)

    return edit


A1, U2 = "messages/1/content", "messages/2/content"
# name, edit of the second request, verdict, shared segments, bytes equal, where the later request differs
EDITS: list[tuple[str, Callable[[Body], Any], str, int, bool | None, str | None]] = [
    ("appended", lambda body: None, "extends", 8, True, None),
    ("parameters outside the prompt", put("max_tokens", 1), "extends", 8, True, None),
    ("top-level members in another order", lambda body: compact(reverse(body)), "extends", 8, True, None),
    ("white space between elements", raw('"}]},{"role":"user"', '"}]} ,\n {"role":"user"'), "extends", 8, True, None),
    ("marker moved to a tool", put("tools/0/cache_control", MARK), "extends", 8, True, None),
    ("marker removed", put("system/1", text("Rules.")), "extends", 8, True, None),
    ("marker with another TTL", put("system/1/cache_control", {"type": "ephemeral", "ttl": "1h"}), "extends", 8, True, None),
    ("marker written in front", put("system/1", reverse), "extends", 8, False, "/system/1"),
    ("marker's key written with an escape", raw("cache_control", "cache\\u005fcontrol"), "extends", 8, True, None),
    ("marker inside a tool result removed", put(U2 + "/0/content/0", text("café")), "extends", 8, True, None),
    ("automatic marker", put("cache_control", MARK), "extends", 8, True, None),
    ("deferred tool appended", insert("tools", 3, tool("Later", defer_loading=True)), "extends", 8, True, None),
    ("deferred tool put in front", insert("tools", 0, tool("Later", defer_loading=True)), "extends", 8, True, None),
    ("deferred tool changed", put("tools/2/description", "new"), "extends", 8, True, None),
    ("string as a block", put("messages/0/content", [text("Read a.")]), "extends", 8, False, "/messages/0"),
    ("own members of a block in another order", put(A1 + "/1", reverse), "extends", 8, False, "/messages/1"),
    ("own members of a tool in another order", put("tools/1", reverse), "extends", 8, False, "/tools/1"),
    ("own members of a nested block in another order", put(U2 + "/0/content/0", reverse), "extends", 8, False, "/messages/2"),
    ("an escape for a letter", raw("café", "caf\\u00e9"), "extends", 8, False, "/messages/2"),
    ("white space inside an element", raw('"path":"a"', '"path": "a"'), "extends", 8, False, "/messages/1"),
    ("block appended to the last message", insert(U2, 1, text("And.")), "extends", 8, False, "/messages/2"),
    ("one byte in a tool's description", put("tools/1/description", "Edit a File"), "diverges", 1, None, "/tools/1"),
    ("key order in a schema", put("tools/1/input_schema/properties", reverse), "diverges", 1, None, "/tools/1"),
    ("number text in a schema", raw("2.5", "2.50"), "diverges", 0, None, "/tools/0"),
    ("a schema's member named like a marker", put("tools/1/input_schema/properties/cache_control", {}), "diverges", 1, None, "/tools/1"),
    ("tools swapped", put("tools", lambda tools: [tools[1], tools[0], tools[2]]), "diverges", 0, None, "/tools/0"),
    ("tool added", insert("tools", 2, tool("Grep")), "diverges", 2, None, "/tools/2"),
    ("tool removed", remove("tools", 1), "diverges", 1, None, "/system/0"),
    ("tool no longer deferred", put("tools/2/defer_loading", False), "diverges", 2, None, "/tools/2"),
    ("system text", put("system/0/text", "You were."), "diverges", 2, None, "/system/0"),
    ("system block added", insert("system", 2, text("Date.")), "diverges", 4, None, "/system/2"),
    ("system block joined", put("system", [text("You are.Rules.")]), "diverges", 2, None, "/system/0"),
    (
        "last system block moved to the messages",
        lambda body: body["messages"].insert(0, {"role": "user", "content": [body["system"].pop()]}),
        "diverges",
        3,
        None,
        "/messages/0/content/0",
    ),
    ("first message", put("messages/0/content", "Read b."), "branches", 4, True, "/messages/0/content"),
    ("role", put("messages/0/role", "system"), "branches", 4, True, "/messages/0/content"),
    ("member of a message", put("messages/0/output_config", {"effort": "low"}), "branches", 4, True, "/messages/0/content"),
    ("thinking dropped", remove(A1, 0), "branches", 5, True, "/messages/1/content/0"),
    ("signature", put(A1 + "/0/signature", "S"), "branches", 5, True, "/messages/1/content/0"),
    ("key order in a tool's input", put(A1 + "/1/input", reverse), "branches", 6, True, "/messages/1/content/1"),
    ("number text in a tool's input", raw('"limit":2,', '"limit":2.0,'), "branches", 6, True, "/messages/1/content/1"),
    ("number as string in a tool's input", put(A1 + "/1/input/limit", "2"), "branches", 6, True, "/messages/1/content/1"),
    ("tool input named like a marker", put(A1 + "/1/input/cache_control", {}), "branches", 6, True, "/messages/1/content/1"),
    (
        "order in an array of a tool's input",
        put(A1 + "/1/input/paths", ["b", {"c": 1, "d": 2}]),
        "branches",
        6,
        True,
        "/messages/1/content/1",
    ),
    ("key order in citations", put("messages/1/content/0/citations", [{"b": 1, "a": 2}]), "branches", 5, True, "/messages/1/content/0"),
    ("tool result cleared", put(U2 + "/0/content", "[cleared]"), "branches", 7, True, "/messages/2/content/0"),
    ("inserted in the middle", insert("messages", 1, {"role": "user", "content": "Wait."}), "branches", 5, True, "/messages/1/content"),
    ("inserted in the middle of a message", insert(A1, 1, text("So.")), "branches", 6, True, "/messages/1/content/1"),
    (
        "message split in two",
        lambda body: body["messages"].insert(2, {"role": "assistant", "content": [body["messages"][1]["content"].pop()]}),
        "branches",
        6,
        True,
        "/messages/2/content/0",
    ),
    (
        "an edit of the end behind another form of the start",
        lambda body: (put("messages/0/content", [text("Read a.")])(body), remove(U2, 0)(body)),
        "branches",
        7,
        False,
        "/messages/2/content",
    ),
    ("rewound", lambda body: body.update(messages=body["messages"][:2]), "branches", 7, True, None),
]
# name, change of the request, verdict, changed lane keys
LANES: list[tuple[str, dict[str, Any], dict[str, Any], str, list[str]]] = [
    ("model", {"model": "claude-sonnet-5"}, {}, "moved", ["model"]),
    ("effort", {"output_config": {"effort": "low"}}, {}, "moved", ["output_config"]),
    ("thinking", {"thinking": {"type": "adaptive"}}, {}, "moved", ["thinking"]),
    ("tool choice", {"tool_choice": {"type": "any"}}, {}, "moved", ["tool_choice"]),
    ("betas", {}, {"headers": {"anthropic-beta": "a,b,c"}}, "moved", ["betas"]),
    ("path", {}, {"path": "/other/v1/messages"}, "moved", ["path"]),
    ("betas in another order", {}, {"headers": {"anthropic-beta": "b, a"}}, "extends", []),
    ("query", {}, {"path": "/v1/messages"}, "extends", []),
]


class Extends(unittest.TestCase):
    def test_edits(self) -> None:
        for name, edit, verdict, shared, equal, where in EDITS:
            with self.subTest(name):
                body = second()
                source = edit(copy.deepcopy(body))
                if not isinstance(source, str):
                    edit(body)
                one = extends(capture(Sent(first()), Sent(source if isinstance(source, str) else body, at=1)))[1]
                found = one.difference["later"] if one.difference else None
                self.assertEqual((one.verdict, one.shared, one.bytes_equal, found, one.against), (verdict, shared, equal, where, 1))
                self.assertEqual(one.ok, verdict == "extends" and equal)

    def test_offset_and_words_of_the_first_difference(self) -> None:
        body = second()
        body["tools"][1]["description"] = "Edit a filE"
        one = extends(capture(Sent(first()), Sent(body)))[1].difference
        assert one is not None
        self.assertTrue(one["earlier_text"][:20].endswith("Edit a fil"))
        self.assertEqual((one["earlier_text"][20], one["later_text"][20]), ("e", "E"))
        self.assertEqual((one["earlier"], one["later"]), ("/tools/1", "/tools/1"))
        body = second()
        body["system"].pop()
        one = extends(capture(Sent(first()), Sent(body)))[1].difference
        assert one is not None
        self.assertEqual((one["earlier"], one["later"]), ("/system/1", "/messages/0/content"))

    def test_referenced_deferred_tool_is_history(self) -> None:
        bodies = first(), second()
        for body in bodies:
            body["messages"][2]["content"][0]["content"] = [{"type": "tool_reference", "tool_name": "Late"}]
        self.assertEqual(extends(capture(Sent(bodies[0]), Sent(bodies[1])))[1].verdict, "extends")
        bodies[1]["tools"][2]["description"] = "drifted"
        one = extends(capture(Sent(bodies[0]), Sent(bodies[1])))[1]
        self.assertEqual((one.verdict, one.shared), ("branches", 7))

    def test_lanes(self) -> None:
        for name, change, sent, verdict, changed in LANES:
            with self.subTest(name):
                start = Sent(first(), headers={"anthropic-beta": "a,b"})
                one = extends(capture(start, dataclasses.replace(start, body=second() | change, at=1, **sent)))[1]
                self.assertEqual((one.verdict, one.lane_changed, one.shared), (verdict, changed, 8))
                self.assertEqual(one.ok, verdict == "extends")

    def test_the_tree(self) -> None:
        """Each request is judged against all before it: (label of the request, its verdict, whom it continues)."""
        start = {**first(), "messages": first()["messages"][:1]}
        fork = second()
        fork["messages"][4]["content"] = [text("Go on."), text("Now.")]
        other = {**start, "messages": [{"role": "user", "content": "Another matter."}]}
        elsewhere = {**other, "system": "You are someone else."}
        sent = [
            start,
            first(),
            second(),
            fork,
            second(),
            {**second(), "messages": second()["messages"] + [{"role": "user", "content": "x"}]},
            other,
            elsewhere,
        ]
        expected = [
            ("first", None),
            ("extends", 1),
            ("extends", 2),
            ("branches", 3),
            ("extends", 3),
            ("extends", 5),
            ("branches", 6),
            ("diverges", 7),
        ]
        requests = capture(*(Sent(body, at=n) for n, body in enumerate(sent)))
        verdicts = extends(requests)
        self.assertEqual([(one.verdict, one.against) for one in verdicts], expected)
        self.assertEqual([one.ok for one in verdicts], [True, True, True, False, True, True, False, False])
        self.assertEqual([one.ok for one in extends(requests, require="branches")], [True] * 7 + [False])
        self.assertEqual([one.ok for one in extends(requests, new_ok=True)], [True, True, True, False, True, True, True, True])

    def test_edited_newest_turn_is_no_extension_of_the_turn_before(self) -> None:
        edited = second()
        edited["messages"][3]["content"][0]["text"] = "Done!"
        one = extends(capture(Sent(first()), Sent(second(), 1), Sent(edited, 2)))[2]
        self.assertEqual((one.verdict, one.against, one.shared), ("branches", 2, 8))

        sent = capture(Sent(first()), Sent(second(), 1), Sent(first(), 2), Sent(edited, 3))
        self.assertEqual([one.verdict for one in extends(sent)[2:]], ["branches", "branches"])

    def test_without_a_head_nothing_is_shared(self) -> None:
        other = {"messages": [{"role": "user", "content": "b"}]}
        one = extends(capture(Sent({"messages": [{"role": "user", "content": "a"}]}), Sent(other, 1)))[1]
        self.assertEqual((one.verdict, one.shared), ("diverges", 0))

    def test_refused_requests_are_not_extended(self) -> None:
        odd = second()
        odd["messages"][4]["content"].append(text("refused"))
        verdicts = extends(capture(Sent(first()), Sent(odd, 1, status=529, first_byte=None), Sent(second(), 2)))
        self.assertEqual([(one.verdict, one.against) for one in verdicts], [("first", None), ("extends", 1), ("extends", 1)])

    def test_new_conversation_in_another_lane(self) -> None:
        title = {"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "Title?"}]}
        requests = capture(Sent(first()), Sent(title, 1))
        self.assertEqual([(one.verdict, one.shared, one.ok) for one in extends(requests)], [("first", 0, True), ("new", 0, False)])
        self.assertTrue(extends(requests, new_ok=True)[1].ok)

    def test_bytes_may_be_reported_only(self) -> None:
        body = second()
        body["messages"][0]["content"] = [text("Read a.")]
        requests = capture(Sent(first()), Sent(body, 1))
        self.assertEqual([extends(requests, strict_bytes=strict)[1].ok for strict in (True, False)], [False, True])
        found = extends(requests)[1].difference
        assert found is not None
        self.assertEqual((found["earlier"], found["later"]), ("/messages/0", "/messages/0"))

    def test_order_is_that_of_the_start(self) -> None:
        self.assertEqual([one.verdict for one in extends(capture(Sent(second(), at=5), Sent(first(), at=4)))], ["first", "extends"])


class StripMarkers(unittest.TestCase):
    def test_cuts_exactly_what_was_put_in(self) -> None:
        seed = random.randrange(2**32)
        dice = random.Random(seed)
        for _ in range(300):
            plain, marked = self.block(dice, 2)
            self.assertEqual(strip_markers(marked.encode()).decode(), plain, f"seed {seed}: {marked}")

    def block(self, dice: random.Random, depth: int) -> tuple[str, str]:
        """A block whose strings look like structure, without and with markers in it and in the blocks of its content."""
        odd = dice.choice(['\\"', "}", "],[", "{", "\\\\", '\\"cache_control\\":1', "é", ""])
        members = [
            '"type":"text"',
            f'"text": "{odd}"',
            '"input":{"cache_control":[1,{"cache_control":2}]}',
            f'"n" :[{dice.choice(["1.0", "-0", "[]", "{}"])}]',
        ]
        dice.shuffle(members)
        inner = [self.block(dice, depth - 1) for _ in range(dice.randrange(3))] if depth else []
        plain, marked = ([*members, '"content":[' + ",".join(pair[at] for pair in inner) + "]"] for at in (0, 1))
        if dice.random() < 0.7:
            marked.insert(dice.randrange(len(marked) + 1), '"cache_control":{"type":"ephemeral","x":["}",{"cache_control":"]"}]}')
        return "{" + ",".join(plain) + "}", "{" + ",".join(marked) + "}"

    def test_layouts(self) -> None:
        mark = '"cache_control" : {"type":"ephemeral"}'
        for marked, plain in [
            (f"{{{mark}}}", "{}"),
            ("{ }", "{ }"),
            (f'{{"a":1,{mark}}}', '{"a":1}'),
            (f'{{"a":1,{mark},"b":2}}', '{"a":1,"b":2}'),
            (f'{{\n "a": 1,\n {mark}\n}}', '{\n "a": 1\n}'),
            (f'{{\n {mark},\n "a": 1\n}}', '{\n "a": 1\n}'),
            (f'{{"content":[ {{"a":1,{mark}}} , "x"]}}', '{"content":[ {"a":1} , "x"]}'),
            (f'{{"input":{{{mark}}}}}', f'{{"input":{{{mark}}}}}'),
            ('"cache_control"', '"cache_control"'),
            (f'{{"citations":[{{{mark}}}]}}', f'{{"citations":[{{{mark}}}]}}'),
        ]:
            with self.subTest(marked):
                self.assertEqual(strip_markers(marked.encode()).decode(), plain)


class CommandLine(unittest.TestCase):
    def run_oracle(self, sent: list[Sent], *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as directory, redirect_stdout(out), redirect_stderr(err):
            code = oracle.main([words[0], str(write_capture(Path(directory), sent)), *words[1:]])
        return code, out.getvalue(), err.getvalue()

    def test_exit_codes(self) -> None:
        broken = second()
        broken["tools"].reverse()
        good, bad = [Sent(first()), Sent(second(), 1)], [Sent(first()), Sent(broken, 1)]
        message = {"role": "user", "content": [sized("a", 5000, "5m")]}
        billed = [
            Sent({"model": "claude-opus-5-5", "messages": [message]}, n * 1000, usage=(5000 * n, 5000 * (1 - n), 0, 0)) for n in (0, 1)
        ]
        lost = [billed[0], Sent(billed[0].body, 1000, usage=(0, 5000, 0, 0))]
        for sent, words, code in [
            (good, ["extends"], 0),
            (bad, ["extends"], 1),
            (bad, ["extends", "--require", "branches"], 1),
            ([], ["extends"], 2),
            (good, ["bill"], 2),
            (billed, ["bill", "--tokens", "bytes:1"], 0),
            (billed, ["bill"], 0),
            (billed, ["bill", "--tokens", "bytes:2"], 1),
            (lost, ["bill", "--tokens", "bytes:1"], 1),
            (lost, ["bill"], 1),
            (billed, ["bill", "--tokens", "words:1"], 2),
            (billed, ["bill", "--tokens", "bytes:0"], 2),
            (billed, ["bill", "--tokens", "bytes:1.x"], 2),
            (billed, ["perfect", "--max-ratio", "1"], 0),
            (lost, ["perfect"], 0),
            (lost, ["perfect", "--max-ratio", "1.9"], 1),
            (good, ["perfect"], 2),
            ([Sent({**first(), "thread": {"type": "continue"}})], ["extends"], 2),
            ([Sent('{"model":1,')], ["extends"], 2),
            ([Sent("[]")], ["extends"], 2),
            ([Sent('{"messages":[],"messages":[]}')], ["extends"], 2),
            ([Sent('{"messages":[{"role":"user","content":[NaN]}]}')], ["extends"], 2),
            ([Sent({"model": "m"})], ["extends"], 2),
            ([Sent(first(), path="/v1/messages/count_tokens")], ["extends"], 2),
            ([Sent({"model": "unknown", "messages": [message]}, usage=(0, 0, 0, 1))], ["bill"], 2),
            ([Sent({"model": "unknown", "messages": [message]}, usage=(0, 0, 0, 1))], ["perfect", "--minimum", "1"], 2),
            ([Sent({"model": "unknown", "messages": [message]}, usage=(0, 0, 0, 1))], ["perfect", "--minimum", "2", "--read", "0.1"], 0),
        ]:
            with self.subTest((words, sent and sent[-1].body)):
                got, out, err = self.run_oracle(sent, *words)
                self.assertEqual(got, code, out + err)
                self.assertEqual(bool(err), code == 2)
                if code < 2:
                    got, out, _ = self.run_oracle(sent, *words, "--json")
                    self.assertEqual((got, json.loads(out)["ok"]), (code, code == 0))

    def test_missing_meta(self) -> None:
        with tempfile.TemporaryDirectory() as directory, redirect_stderr(io.StringIO()) as err:
            write_capture(Path(directory), [Sent(first())])
            (Path(directory) / "000001.meta.json").unlink()
            self.assertEqual(oracle.main(["extends", directory]), 2)
        self.assertIn("000001.body.json", err.getvalue())


class Articles(unittest.TestCase):
    def test_claims_hold(self) -> None:
        self.assertEqual([(one.name, one.computed) for one in articles.articles() if not one.ok], [])

    def test_claims_depend_on_the_prices_and_the_model(self) -> None:
        dearer = Prices(Fraction(1), Fraction("1.25"), Fraction(2), Fraction("0.2"))
        with mock.patch.object(articles, "UNITS", dearer):
            self.assertEqual(sum(not one.ok for one in articles.articles()), 5)
        with mock.patch("cache_model.Cache.find", return_value=0):
            wrong = {one.name.split(":")[0] for one in articles.articles() if not one.ok}
        self.assertEqual(
            wrong,
            {
                "process per message",
                "same prefix",
                "times dearer",
                "growing array",
                "deferred",
                "five turns, 8k head, cached",
                "without the premium of the write",
            },
        )


if __name__ == "__main__":
    unittest.main()
