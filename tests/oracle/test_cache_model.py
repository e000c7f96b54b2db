"""Bills worked out by hand against the naive cache model, and what it says when a reported figure is wrong."""

from __future__ import annotations

import dataclasses
import unittest
from fractions import Fraction
from typing import Any

from cache_model import Rules, Sizes, bill, counter, of_model
from capture_builder import Sent, capture, compact, sized
from perfect import PRICE_OF, Prices, perfect, price_list

BYTES = counter("bytes:1")
UNITS = Prices(Fraction(1), Fraction("1.25"), Fraction(2), Fraction("0.1"))
Body = dict[str, Any]


def body(*blocks: Body, **more: Any) -> Body:
    """One user message with these blocks."""
    return {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": list(blocks)}], **more}


def ask(
    at: int, usage: tuple[int, int, int, int] | None, *blocks: Body, first_byte: int | None = -1, status: int = 200, **more: Any
) -> Sent:
    """A request of these blocks at a time, and its bill: read, 5m write, 1h write, input."""
    return Sent(body(*blocks, **more), at, first_byte, usage, status)


def call(n: int) -> Body:
    return {"type": "tool_use", "id": f"t{n}", "name": "R", "input": {}}


def result(n: int) -> Body:
    return {"type": "tool_result", "tool_use_id": f"t{n}"}


def said(at: int, usage: tuple[int, int, int, int], *messages: Body, **more: Any) -> Sent:
    """A request of these messages at a time, and its bill."""
    return Sent({"model": "claude-opus-5-5", "messages": list(messages)} | more, at, usage=usage)


def message(role: str, *blocks: Body, **more: Any) -> Body:
    return {"role": role, "content": list(blocks), **more}


def marked(block: Body) -> Body:
    return block | {"cache_control": {"type": "ephemeral"}}


def size(*blocks: Body) -> int:
    return sum(len(compact({key: value for key, value in block.items() if key != "cache_control"})) for block in blocks)


def head(ttl: str | None = "5m") -> Body:
    return sized("head", 1000, ttl)


def one(n: int, ttl: str | None = None, length: int = 100) -> Body:
    return sized(f"b{n}", length, ttl)


def texts(count: int) -> list[Body]:
    return [one(n) for n in range(count)]


def fan(count: int) -> list[Body]:
    return [*(call(n) for n in range(count)), *(result(n) for n in range(count))]


FAN = size(*fan(25))
M, H = 60_000, 3_600_000
LIMIT = 5 * M
THINKING = {"type": "thinking", "thinking": "x", "signature": "s"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}

NOTE = message("system", one(8), clear_at="next_user_message")
STEP = size(call(1), result(1))


def two_turns(read: int, written: int, **more: Any) -> list[Sent]:
    """A step with thinking, and what a user says after it: that is billed with these figures."""
    step = message("assistant", THINKING, call(1))
    last = size(THINKING) + STEP
    return [
        said(0, (0, 1000 + last, 0, 0), message("user", head()), step, message("user", marked(result(1))), **more),
        said(10, (read, written, 0, 0), message("user", head(None)), step, message("user", result(1), one(1, "5m")), **more),
    ]


def pictured(usage: tuple[int, int, int, int]) -> list[Sent]:
    """A first image in a prompt: that is billed with these figures."""
    return [
        said(0, (0, 1100, 0, 0), message("user", one(1, "5m")), system=[head()]),
        said(10, usage, message("user", one(1), marked(IMAGE)), system=[head()]),
    ]


# name, rules, requests with the hand-made bill: read, write 5m, write 1h, input
CASES: list[tuple[str, Rules, list[Sent]]] = [
    ("no marker", Rules(), [ask(n, (0, 0, 0, 1000), head(None)) for n in (0, 10)]),
    ("written, then read", Rules(), [ask(0, (0, 1000, 0, 100), head(), one(1)), ask(10, (1000, 0, 0, 100), head(), one(2))]),
    (
        "trailing marker moves on",
        Rules(),
        [
            ask(0, (0, 1100, 0, 0), head(None), one(1, "5m")),
            ask(10, (1100, 100, 0, 0), head(None), one(1), one(2, "5m")),
            ask(20, (1200, 100, 0, 100), head(None), one(1), one(2), one(3, "5m"), one(4)),
        ],
    ),
    (
        "nothing is written between markers",
        Rules(),
        [ask(0, (0, 1200, 0, 0), head(None), one(1), one(2, "5m")), ask(10, (0, 1100, 0, 0), head(None), one(1, "5m"))],
    ),
    ("5m entry, a millisecond before its end", Rules(), [ask(7, (0, 1000, 0, 0), head()), ask(7 + LIMIT - 1, (1000, 0, 0, 0), head())]),
    ("5m entry, at its end", Rules(), [ask(7, (0, 1000, 0, 0), head()), ask(7 + LIMIT, (0, 1000, 0, 0), head())]),
    ("5m entry, a millisecond after its end", Rules(), [ask(7, (0, 1000, 0, 0), head()), ask(7 + LIMIT + 1, (0, 1000, 0, 0), head())]),
    ("1h entry, a millisecond before its end", Rules(), [ask(0, (0, 0, 1000, 0), head("1h")), ask(H - 1, (1000, 0, 0, 0), head("1h"))]),
    ("1h entry, at its end", Rules(), [ask(0, (0, 0, 1000, 0), head("1h")), ask(H, (0, 0, 1000, 0), head("1h"))]),
    ("1h entry, a millisecond after its end", Rules(), [ask(0, (0, 0, 1000, 0), head("1h")), ask(H + 1, (0, 0, 1000, 0), head("1h"))]),
    (
        "time counts from the start, not from the first byte",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head(), first_byte=2 * M), ask(LIMIT, (0, 1000, 0, 0), head())],
    ),
    (
        "a read refreshes",
        Rules(),
        [
            ask(0, (0, 1000, 0, 0), head()),
            ask(LIMIT - 1, (1000, 0, 0, 0), head()),
            ask(2 * LIMIT - 2, (1000, 0, 0, 0), head()),
            ask(3 * LIMIT - 2, (0, 1000, 0, 0), head()),
        ],
    ),
    (
        "a read keeps shorter entries on its path alive",
        Rules(),
        [
            ask(0, (0, 1100, 0, 0), head(), one(1, "5m")),
            ask(LIMIT - 1, (1100, 0, 0, 0), head(None), one(1, "5m")),
            ask(LIMIT + 1, (1000, 0, 0, 100), head(), one(2)),
        ],
    ),
    (
        "a read does not revive what is dead",
        Rules(),
        [
            ask(0, (0, 0, 1100, 0), head(), one(1, "1h")),
            ask(LIMIT, (1100, 0, 0, 0), head(None), one(1, "1h")),
            ask(LIMIT + 1, (0, 1000, 0, 100), head(), one(2)),
        ],
    ),
    (
        "before the writer's first byte",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head(), first_byte=2000), ask(1999, (0, 1000, 0, 0), head()), ask(2000, (1000, 0, 0, 0), head())],
    ),
    (
        "a second writer does not delay the first",
        Rules(),
        [
            ask(0, (0, 1000, 0, 0), head(), first_byte=2000),
            ask(1, (0, 1000, 0, 0), head(), first_byte=9000),
            ask(2000, (1000, 0, 0, 0), head()),
        ],
    ),
    ("a refused writer writes nothing", Rules(), [ask(0, None, head(), first_byte=None, status=529), ask(10, (0, 1000, 0, 0), head())]),
    ("an answer cut short has written", Rules(), [ask(0, None, head()), ask(10, (1000, 0, 0, 0), head())]),
    ("an answer never begun has not", Rules(), [ask(0, None, head(), first_byte=None), ask(10, (0, 1000, 0, 0), head())]),
    (
        "entry 19 positions before the marker",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (1000, 1900, 0, 0), head(None), *texts(18), one(18, "5m"))],
    ),
    (
        "entry 20 positions before the marker",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (0, 3000, 0, 0), head(None), *texts(19), one(19, "5m"))],
    ),
    (
        "a second marker within reach",
        Rules(),
        [
            ask(0, (0, 1000, 0, 0), head()),
            ask(10, (1000, 2600, 0, 0), head(None), *texts(5), one(5, "5m"), *(one(n) for n in range(6, 25)), one(25, "5m")),
        ],
    ),
    (
        "the entry itself marked again",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (1000, 3100, 0, 0), head(), *texts(30), one(30, "5m"))],
    ),
    (
        "wide fan-out where runs collapse",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (1000, FAN + 100, 0, 0), head(None), *fan(25), one(0, "5m"))],
    ),
    (
        "wide fan-out counted block by block",
        Rules(collapse=False),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (0, 1000 + FAN + 100, 0, 0), head(None), *fan(25), one(0, "5m"))],
    ),
    (
        "17 positions and two runs are 20",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (1000, FAN + 1700, 0, 0), head(None), *fan(25), *texts(16), one(16, "5m"))],
    ),
    (
        "18 positions and two runs are 21",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head()), ask(10, (0, 1000 + FAN + 1800, 0, 0), head(None), *fan(25), *texts(17), one(17, "5m"))],
    ),
    ("mixed TTL, nothing read", Rules(), [ask(0, (0, 200, 1000, 100), head("1h"), one(1), one(2, "5m"), one(3))]),
    (
        "mixed TTL, the hour read",
        Rules(),
        [ask(0, (0, 100, 1000, 0), head("1h"), one(1, "5m")), ask(LIMIT, (1000, 200, 0, 100), head("1h"), one(1), one(2, "5m"), one(3))],
    ),
    (
        "mixed TTL, hour behind what is read",
        Rules(),
        [ask(0, (0, 0, 1000, 0), head("1h")), ask(10, (1000, 100, 200, 100), head("1h"), one(1), one(2, "1h"), one(3, "5m"), one(4))],
    ),
    (
        "two hours, the second unread",
        Rules(),
        [ask(0, (0, 0, 1000, 0), head("1h")), ask(10, (1000, 100, 200, 0), head(None), one(1, "1h"), one(2, "1h"), one(3, "5m"))],
    ),
    (
        "two writers at once, one for an hour",
        Rules(),
        [
            ask(0, (0, 1000, 0, 0), head("5m"), first_byte=2000),
            ask(1, (0, 0, 1000, 0), head("1h"), first_byte=2001),
            ask(2, (0, 1000, 0, 0), head("5m"), first_byte=2002),
            ask(LIMIT + 3, (1000, 0, 0, 0), head("1h")),
        ],
    ),
    (
        "a writer whose first byte comes after its entry has died",
        Rules(),
        [
            ask(0, (0, 1000, 0, 0), head(), first_byte=LIMIT + 10),
            ask(LIMIT, (0, 1000, 0, 0), head(), first_byte=LIMIT + 50),
            ask(LIMIT + 20, (0, 1000, 0, 0), head(), first_byte=LIMIT + 99),
            ask(LIMIT + 50, (1000, 0, 0, 0), head()),
        ],
    ),
    (
        "mixed TTL, hour in front of what is read",
        Rules(),
        [
            ask(0, (0, 1100, 0, 0), head(None), one(1, "5m")),
            ask(10, (1100, 100, 0, 0), head("1h"), one(1), one(2, "5m")),
            ask(20, (0, 0, 1000, 100), head("1h"), one(9)),
        ],
    ),
    (
        "an hour's marker on a 5m entry keeps its 5m",
        Rules(),
        [ask(0, (0, 1000, 0, 0), head("5m")), ask(10, (1000, 0, 0, 0), head("1h")), ask(10 + LIMIT, (0, 0, 1000, 0), head("1h"))],
    ),
    ("one token short of the minimum", Rules(minimum=1001), [ask(n, (0, 0, 0, 1000), head()) for n in (0, 10)]),
    ("at the minimum", Rules(minimum=1000), [ask(0, (0, 1000, 0, 0), head()), ask(10, (1000, 0, 0, 0), head())]),
    (
        "the minimum counts all in front",
        Rules(minimum=1001),
        [ask(0, (0, 1100, 0, 0), head(), one(1, "5m")), ask(10, (0, 1100, 0, 0), head(), one(2, "5m"))],
    ),
    (
        "below the model's own minimum",
        Rules(),
        [Sent(body(head()) | {"model": "claude-opus-4-8"}, n, usage=(0, 0, 0, 1000)) for n in (0, 10)],
    ),
    ("another lane", Rules(), [ask(0, (0, 1000, 0, 0), head()), ask(10, (0, 1000, 0, 0), head(), tool_choice={"type": "any"})]),
    (
        "automatic marker",
        Rules(),
        [
            ask(0, (0, 0, 1000, 0), head(None), cache_control={"type": "ephemeral", "ttl": "1h"}),
            ask(10, (1000, 100, 0, 0), head(None), one(1), cache_control={"type": "ephemeral"}),
        ],
    ),
    (
        "automatic marker walks back",
        Rules(),
        [ask(0, (0, 1000, 0, size(THINKING)), head(None), THINKING, cache_control={"type": "ephemeral"})],
    ),
    (
        "automatic marker passes an empty text",
        Rules(),
        [ask(0, (0, 1000, 0, 25), head(None), {"type": "text", "text": ""}, cache_control={"type": "ephemeral"})],
    ),
    (
        "a note that is cleared once a user's message follows",
        Rules(),
        [
            said(0, (0, 1000, 0, 100), message("user", head()), NOTE),
            said(10, (1000, 0, 0, 200), message("user", head()), NOTE, message("assistant", one(1))),
            said(20, (1000, 200, 0, 0), message("user", head()), NOTE, message("assistant", one(1)), message("user", one(2, "5m"))),
        ],
    ),
    ("thinking of all turns is kept", Rules(thinking="all"), two_turns(1000 + size(THINKING) + STEP, 100)),
    ("thinking of the last turn is kept", Rules(thinking="last"), two_turns(1000, STEP + 100)),
    ("thinking kept by model, of the last turn", Rules(minimum=1), two_turns(1000, STEP + 100, model="claude-sonnet-4-5-20250929")),
    ("thinking kept by model, of all turns", Rules(minimum=1), two_turns(1000 + size(THINKING) + STEP, 100, model="claude-opus-4-5")),
    ("the first image changes the messages' key", Rules(), pictured((1000, 100 + size(IMAGE), 0, 0))),
    ("an image is content alone", Rules(images="off"), pictured((1100, size(IMAGE), 0, 0))),
    (
        "string as block",
        Rules(),
        [
            Sent(
                {
                    "model": "claude-opus-5-5",
                    "system": [head()],
                    "messages": [{"role": "user", "content": [sized("u", 40)]}],
                    "cache_control": {"type": "ephemeral"},
                },
                0,
                usage=(0, 1040, 0, 0),
            ),
            Sent(
                {
                    "model": "claude-opus-5-5",
                    "system": [head(None)],
                    "messages": [{"role": "user", "content": sized("u", 40)["text"]}, {"role": "user", "content": [one(1, "5m")]}],
                },
                10,
                usage=(1040, 100, 0, 0),
            ),
        ],
    ),
]


class Bills(unittest.TestCase):
    def test_bills_made_by_hand(self) -> None:
        for name, rules, sent in CASES:
            with self.subTest(name):
                self.assertEqual([bill.findings for bill in bill(capture(*sent), rules, BYTES)], [[]] * len(sent))

    def test_any_other_figure_is_a_finding(self) -> None:
        for name, rules, sent in CASES:
            for slot in range(4):
                with self.subTest(name, slot=slot):
                    last = sent[-1]
                    assert last.usage is not None
                    read, short, long, plain = (tokens + (at == slot) for at, tokens in enumerate(last.usage))
                    wrong = dataclasses.replace(last, usage=(read, short, long, plain))
                    found = bill(capture(*sent[:-1], wrong), rules, BYTES)
                    self.assertEqual([len(one.findings) for one in found], [0] * (len(sent) - 1) + [1])

    def test_without_a_token_rule_the_same_bills_hold(self) -> None:
        for name, rules, sent in CASES:
            with self.subTest(name):
                self.assertEqual([one.findings for one in bill(capture(*sent), rules)], [[]] * len(sent))

    def test_without_a_token_rule_wrong_bills_are_found(self) -> None:
        first = ask(0, (0, 1100, 0, 0), head(), one(1, "5m"))
        later = body(head(), one(1), one(2, "5m"), one(3))
        for name, usage in [
            ("nothing read", (0, 1200, 0, 100)),
            ("less read", (1000, 200, 0, 100)),
            ("more read", (1150, 50, 0, 100)),
            ("nothing written", (1100, 0, 0, 200)),
            ("written for an hour", (1100, 0, 100, 100)),
            ("no input", (1100, 200, 0, 0)),
            ("shrunk", (1100, -100, 0, 200)),
        ]:
            with self.subTest(name):
                self.assertTrue(bill(capture(first, Sent(later, 10, usage=usage)), Rules())[1].findings)
        self.assertEqual(bill(capture(first, Sent(later, 10, usage=(1100, 100, 0, 100))), Rules())[1].findings, [])

    def test_a_few_tokens_behind_the_last_marker_are_the_providers(self) -> None:
        sent = [ask(0, (0, 1000, 0, 3), head()), ask(10, (1000, 100, 0, 3), head(None), one(1, "5m"))]
        self.assertEqual([bill.findings for bill in bill(capture(*sent), Rules())], [[], []])

    def test_without_a_split_of_the_writes_their_total_is_judged(self) -> None:
        for blocks, usage, expected, actual in [
            ([head("1h"), one(1, "5m")], (0, 1100, 0, 0), [], 1375),
            ([head("1h"), one(1, "1h")], (0, 1100, 0, 0), [], 2200),
            ([head("1h")], (0, 1001, 0, 0), ["write_5m: expected 1000, reported 1001"], 2002),
            ([head()], (0, 0, 1000, 0), [], 1250),
        ]:
            with self.subTest(blocks=blocks):
                requests = capture(ask(0, usage, *blocks))
                assert requests[0].usage is not None
                del requests[0].usage["cache_creation"]
                self.assertEqual(bill(requests, Rules(), BYTES)[0].findings, expected)
                self.assertEqual(perfect(requests, Rules(), lambda *_: UNITS, BYTES)[0].actual, actual)

    def test_without_a_split_of_the_writes_the_hour_is_not_judged(self) -> None:
        requests = capture(ask(0, (0, 1100, 0, 0), head("1h"), one(1, "5m")))
        assert requests[0].usage is not None
        self.assertTrue(bill(requests, Rules())[0].findings)
        del requests[0].usage["cache_creation"]
        self.assertEqual(bill(requests, Rules())[0].findings, [])

    def test_sizes_between_and_behind_what_is_known(self) -> None:
        blocks = [sized("a", 99), sized("b", 199, "5m"), sized("c", 299), sized("d", 399)]
        first, later = capture(ask(0, (0, 30, 0, 30), *blocks[:3]), ask(10, None, *blocks))
        self.assertEqual(Sizes(None, [first]).prefixes(later), [0, 10, 30, 60, 100])
        self.assertEqual(Sizes(None).prefixes(later), [0, 25, 75, 150, 250])
        self.assertEqual(Sizes(BYTES, [first]).prefixes(later), [0, 99, 298, 597, 996])

    def test_minimum_of_a_model(self) -> None:
        for model, least in [
            ("claude-opus-5-5", 512),
            ("claude-sonnet-4-6", 1024),
            ("claude-opus-4-7", 2048),
            ("claude-haiku-4-5-20251001", 4096),
        ]:
            self.assertEqual(Rules().least(model), least)
        self.assertEqual(Rules(minimum=0).least("any"), 0)

    def test_tokens_are_rounded_up_for_each_block(self) -> None:
        sent = ask(0, (0, 286, 0, 29), sized("é", 1000, "5m"), one(1))
        self.assertEqual(bill(capture(sent), Rules(minimum=1), counter("chars:3.5"))[0].findings, [])
        sent = ask(0, (0, 1001, 0, 100), sized("é", 1000, "5m"), one(1))
        self.assertEqual(bill(capture(sent), Rules(minimum=1), counter("bytes:1"))[0].findings, [])

    def test_tokens_for_each_block_and_for_images(self) -> None:
        image = {"type": "image", "source": {"type": "base64", "data": "x" * 999}}
        sent = ask(0, (0, 290, 0, 1533), head(), image, one(1))
        self.assertEqual(bill(capture(sent), Rules(minimum=1), counter("bytes:3.5+4,image:1500"))[0].findings, [])

    def test_models_by_longest_name(self) -> None:
        for model, price in [
            ("claude-opus-5-5", "4"),
            ("claude-opus-5", "5"),
            ("claude-opus-5-5-20260901", "4"),
            ("claude-opus-5-20260401", "5"),
            ("anthropic/claude-opus-4-1", "15"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "3"),
            ("claude-haiku-4-5@20251001", "1"),
            ("claude-fable-5-2", "8"),
            ("claude-opus-55", None),
            ("gpt-6", None),
        ]:
            with self.subTest(model):
                row = of_model(PRICE_OF, model)
                self.assertEqual(row and row.split()[0], price)


class Perfect(unittest.TestCase):
    # name, requests, actual and perfect cost in input-token units
    CASES: list[tuple[str, list[Sent], str, str]] = [
        (
            "kept",
            [ask(0, (0, 1100, 0, 0), head(None), one(1, "5m")), ask(10, (1100, 100, 0, 0), head(None), one(1), one(2, "5m"))],
            "1610",
            "1610",
        ),
        (
            "an hour",
            [ask(0, (0, 100, 1000, 0), head("1h"), one(1, "5m")), ask(10, (1100, 0, 0, 0), head("1h"), one(1, "5m"))],
            "2235",
            "2235",
        ),
        ("a note in front changed", [ask(0, (0, 1100, 0, 0), one(1), head()), ask(10, (0, 1100, 0, 0), one(2), head())], "2750", "1600"),
        ("expired", [ask(0, (0, 1000, 0, 0), head()), ask(LIMIT, (0, 1000, 0, 0), head())], "2500", "1350"),
        ("the same text twice is two positions", [ask(0, (0, 2000, 0, 0), head(), head())], "2500", "2500"),
        ("no marker at all", [ask(n, (0, 0, 0, 1000), head(None)) for n in (0, 1)], "2000", "1350"),
        ("below the minimum", [ask(n, (0, 0, 0, 100), one(1, "5m")) for n in (0, 1)], "200", "200"),
        ("at the minimum", [ask(n, ((0, 512, 0, 0), (512, 0, 0, 0))[n], sized("a", 512, "5m")) for n in (0, 1)], "691.2", "691.2"),
        ("without a usage", [ask(0, None, head()), ask(1, (0, 1000, 0, 0), head())], "1250", "100"),
        ("another lane", [ask(0, (0, 1000, 0, 0), head()), ask(1, (0, 1000, 0, 0), head(), speed="fast")], "2500", "2500"),
        (
            "a refused request has written nothing",
            [ask(0, None, head(), status=529, first_byte=None), ask(1, (0, 1000, 0, 0), head())],
            "1250",
            "1250",
        ),
    ]

    def test_costs_made_by_hand(self) -> None:
        for name, sent, actual, best in self.CASES:
            with self.subTest(name):
                ideals = perfect(capture(*sent), Rules(), lambda *_: UNITS, BYTES)
                self.assertEqual(
                    (sum(one.actual for one in ideals), sum(one.perfect for one in ideals)), (Fraction(actual), Fraction(best))
                )
                self.assertEqual(sum(one.uncached for one in ideals), sum(sum(request.usage) for request in sent if request.usage))

    def test_totals_alone_give_the_same_for_a_growing_conversation(self) -> None:
        for name, sent, _, best in self.CASES[:2] + self.CASES[3:]:
            with self.subTest(name):
                ideals = perfect(capture(*sent), Rules(), lambda *_: UNITS)
                self.assertAlmostEqual(float(sum(one.perfect for one in ideals)), float(best), delta=2)

    def test_dollars(self) -> None:
        # model, prompt, read, 5m write, 1h write, input of a million tokens each
        for model, total, row in [
            ("claude-opus-5-5", 1, "0.2 5 8 4"),
            ("claude-fable-5-1", 1, "0.25 12.5 20 10"),
            ("claude-haiku-5-5", 100_000, "0.01 0.125 0.2 0.1"),
            ("claude-haiku-5-5", 100_001, "0.05 0.625 1 0.5"),
            ("claude-sonnet-4-5", 200_001, "0.6 7.5 12 6"),
            ("claude-sonnet-4-6", 900_000, "0.3 3.75 6 3"),
        ]:
            with self.subTest(model, total=total):
                prices = price_list(model, total)
                self.assertEqual(
                    [one * 1_000_000 for one in (prices.read, prices.write_5m, prices.write_1h, prices.input)],
                    [Fraction(one) for one in row.split()],
                )

    def test_price_rows_keep_their_multiples(self) -> None:
        for model, row in PRICE_OF.items():
            price, short, long, _ = map(Fraction, row.split())
            self.assertEqual((short, long), (price * Fraction("1.25"), price * 2), model)


class ServerEditsTest(unittest.TestCase):
    """What the provider leaves out: told in a body it is judged, told nowhere it is said not to be covered."""

    def test_messages_in_front_of_a_summary_are_not_read(self) -> None:
        asked, summary, thanks = one(1), {"type": "compaction", "content": "Short."}, marked(one(2))
        first = said(0, (0, 1100, 0, 0), message("user", head(), marked(asked)))
        behind = [message("user", head(), asked), message("assistant", summary), message("user", thanks)]
        plain = said(2000, (0, size(summary, one(2)), 0, 0), *behind)
        found = bill(capture(first, plain), Rules(minimum=100), BYTES)
        self.assertEqual([one.findings for one in found], [[], []])
        wrong = said(2000, (1100, size(summary, one(2)), 0, 0), *behind)
        self.assertTrue(bill(capture(first, wrong), Rules(minimum=100), BYTES)[1].findings)

    def test_what_is_told_nowhere_is_not_covered(self) -> None:
        clears = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
        compacts = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
        summarised = {"input_tokens": 9, "iterations": [{"type": "compaction", "input_tokens": 1100}, {"type": "message", "input_tokens": 9}]}
        for more, usage, covered in [
            (clears, (0, 9, 0, 0), False),
            (compacts, (0, 1100, 0, 0), True),
            (compacts, summarised, False),
            ({}, (0, 1100, 0, 0), True),
        ]:
            sent = Sent(body(head(None), marked(one(1)), **more), usage=usage)
            found = bill(capture(sent), Rules(minimum=100), BYTES)[0]
            self.assertEqual((bool(found.not_covered), found.findings), (not covered, []), more)


if __name__ == "__main__":
    unittest.main()
