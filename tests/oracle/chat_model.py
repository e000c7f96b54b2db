"""Prompts of Chat Completions and what engines keep of them, from docs/formats/simulator.md alone.

What a model generated is not captured. A later body that goes on from a prompt shows it as a message; rendered like the
model wrote it, it is what the engine may have kept. So a read has a lowest value, without the answer, and a highest, with it.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage import common
from source import BadInput, Number, Pairs, parse

Token = tuple[str, str]  # kind and text
PIECES = re.compile(r" ?[A-Za-z0-9]{1,6}|[ \t\n\r]{1,7}|.", re.S)
IMAGE_TOKENS = 1_500
CLASSES = ("append-only", "reasoning-stripping", "tools-late", "dated", "strict-alternation")
PROFILES = ("vllm", "llamacpp", "openai-legacy")


def special(name: str) -> Token:
    return ("special", name)


def text(piece: str) -> list[Token]:
    return [("text", found) for found in PIECES.findall(piece)]


def written(value: Any) -> str:
    """JSON without white space, as a template writes what it was given."""
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{written(key)}:{written(inner)}" for key, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return value.text if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


# Templates.


def opening(role: str) -> list[Token]:
    return [special("START"), *text("system" if role == "developer" else role), *text("\n")]


def content(message: Pairs) -> list[Token]:
    value = message.get("content")
    parts = [Pairs([("type", "text"), ("text", value)])] if isinstance(value, str) else value or []
    found: list[Token] = []
    for part in parts:
        if part.get("type") == "image_url":
            found += [("image", part.get("image_url").get("url"))] * IMAGE_TOKENS
        else:
            found += text(str(part.get("text") if part.get("type") == "text" else part.get("refusal")))
    return found


def reasoning(message: Pairs) -> list[Token]:
    said = message.get("reasoning") or message.get("reasoning_content")
    return [special("THINK"), *text(said), special("END_THINK")] if said else []


def calls(message: Pairs, ids: bool, arguments: Any) -> list[Token]:
    found: list[Token] = []
    for call in message.get("tool_calls") or []:
        function = call.get("function")
        found += [special("CALL"), *text(call.get("id") if ids else ""), *text(function.get("name")), *text("\n")]
        found += [*text(arguments(function.get("arguments"))), special("END_CALL")]
    return found


def tools(body: Pairs) -> list[Token]:
    offered = body.get("tools") or []
    inner = [token for tool in offered for token in (*text(written(tool)), *text("\n"))]
    return [special("TOOLS"), *inner, special("END_TOOLS")] if offered else []


def prompt(body: Pairs, template: str, at_ms: int) -> list[Token]:
    """What the model reads, up to where it goes on."""
    messages = list(body.get("messages"))
    roles = [message.get("role") for message in messages]
    leading = next((at for at, role in enumerate(roles) if role not in ("system", "developer")), len(roles))
    last_user = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
    late = template == "tools-late"
    inside = [token for message in messages[:leading] for token in content(message)]
    if template == "dated":
        day = datetime.datetime.fromtimestamp(at_ms // 1_000, datetime.timezone.utc).date().isoformat()
        inside = [*text("Today is "), *text(day), *text(".\n"), *inside]
    inside += [] if late else tools(body)
    found = [*opening("system"), *inside, special("END")] if leading or inside else []
    for at, message in enumerate(messages[leading:], leading):
        found += tools(body) if late and at == last_user else []
        found += opening(roles[at]) + (text(message.get("tool_call_id") or "") if late else [])
        found += [] if template == "reasoning-stripping" and at < last_user else reasoning(message)
        found += [*content(message), *calls(message, late, lambda source: written(parse(source.encode()))), special("END")]
    return found + opening("assistant")


def generated(message: Pairs) -> list[Token]:
    """What the model wrote, if it came back as it was."""
    return [*reasoning(message), *content(message), *calls(message, False, str), special("END")]


# Requests.


@dataclass
class Asked:
    """One answered request."""

    n: int
    at: int
    first_byte: int
    body: Pairs
    prompt: list[Token]
    total: int
    cached: int | None
    output: int
    answer: list[Token] = field(default_factory=list)

    @property
    def kept(self) -> list[Token]:
        """What was computed of the answer: all but its last token."""
        return self.answer[: max(self.output - 1, 0)]


def read(directory: Path, template: str) -> list[Asked]:
    """Reads a capture in the order in which it was taken, and what later requests show of answers."""
    asked = []
    for path in sorted(directory.glob("*.body.json")):
        meta = json.loads(path.with_name(path.name.replace(".body.", ".meta.")).read_bytes())
        if not str(meta["path"]).split("?")[0].endswith("/chat/completions") or meta["status"] != 200:
            continue
        usage, body = meta["usage"], parse(path.read_bytes())
        if not usage:
            raise BadInput(f"{path.name}: the answer tells no usage")
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        rendered = prompt(body, template, meta["at_ms"])
        figures = usage["prompt_tokens"], cached, usage["completion_tokens"]
        asked.append(Asked(meta["n"], meta["at_ms"], meta["first_byte_at_ms"], body, rendered, *figures))
    if not asked:
        raise BadInput(f"{directory}: no answered Chat Completions request")
    for at, one in enumerate(asked):
        show(one, asked[at + 1 :])
    return asked


def show(one: Asked, later: Sequence[Asked]) -> None:
    """Takes the answer from the first later body that has it behind the same messages."""
    mine = [written(message) for message in one.body.get("messages")]
    for other in later:
        theirs = list(other.body.get("messages"))
        same = len(theirs) > len(mine) and [written(message) for message in theirs[: len(mine)]] == mine
        if same and theirs[len(mine)].get("role") == "assistant":
            one.answer = generated(theirs[len(mine)])
            return
    # Nobody ever saw it, but it takes up room.
    one.answer = [("unknown", f"{one.n}.{at}") for at in range(one.output)]


# Engines.


class Blocks:
    """Full blocks by all tokens up to their end, the least recently used first."""

    def __init__(self, size: int, capacity: int | None, minimum: int, idle: int | None, output: bool, last: bool) -> None:
        self.size, self.capacity, self.minimum, self.idle, self.output, self.last = size, capacity, minimum, idle, output, last
        self.numbers: dict[tuple[Any, ...], int] = {}  # of a block by what stands in front of it and its tokens
        self.blocks: OrderedDict[int, tuple[int, int]] = OrderedDict()  # number -> computed, used

    def names(self, one: Asked, tokens: list[Token]) -> Iterator[int]:
        scope: Any = (one.body.get("cache_salt"), one.body.get("prompt_cache_key"))
        for end in range(self.size, len(tokens) + 1, self.size):
            scope = self.numbers.setdefault((scope, *tokens[end - self.size : end]), len(self.numbers))
            yield scope

    def find(self, one: Asked) -> int:
        found = 0
        for name in self.names(one, one.prompt[: len(one.prompt) - self.last]):
            computed, used = self.blocks.get(name, (one.at + 1, 0))
            if computed > one.at or (self.idle is not None and one.at >= used + self.idle):
                break
            found += self.size
        return found if found >= self.minimum and one.body.get("cache_prompt") is not False else 0

    def keep(self, one: Asked, with_answer: bool) -> None:
        tokens = one.prompt + (one.kept if with_answer and self.output else [])
        for name in reversed(list(self.names(one, tokens))):
            old = self.blocks.pop(name, None)
            gone = old is None or (self.idle is not None and one.at >= old[1] + self.idle)
            self.blocks[name] = (one.first_byte if gone or old is None else old[0], one.first_byte)
        while self.capacity is not None and len(self.blocks) > self.capacity:
            self.blocks.popitem(last=False)


class Slots:
    """The latest prompt of each slot; requests that overlap in time are not modelled."""

    def __init__(self, count: int) -> None:
        self.slots: list[tuple[int, list[Token]]] = [(0, []) for _ in range(count)]
        self.used = 0

    def choose(self, one: Asked) -> int:
        wanted = one.body.get("id_slot")
        if isinstance(wanted, Number) and wanted.text.isdigit() and int(wanted.text) < len(self.slots):
            return int(wanted.text)
        shared = [common(tokens, one.prompt) for _, tokens in self.slots]
        best = max(range(len(shared)), key=lambda at: (shared[at], -at))
        return best if shared[best] * 10 > len(one.prompt) else min(range(len(shared)), key=lambda at: (self.slots[at][0], at))

    def find(self, one: Asked) -> int:
        if one.body.get("cache_prompt") is False:
            return 0
        return min(common(self.slots[self.choose(one)][1], one.prompt), len(one.prompt) - 1)

    def keep(self, one: Asked, with_answer: bool) -> None:
        slot, self.used = self.choose(one), self.used + 1
        self.slots[slot] = (self.used, one.prompt + (one.kept if with_answer else []))


def engine(profile: str, capacity: int, slots: int) -> Blocks | Slots:
    if profile == "llamacpp":
        return Slots(slots)
    return Blocks(16, capacity, 0, None, True, True) if profile == "vllm" else Blocks(128, None, 1_024, 600_000, False, False)


# Bills.


@dataclass
class Read:
    """What a request should have read beside what was told."""

    n: int
    prompt: int
    lowest: int
    highest: int
    told: int | None
    findings: list[str]


def bill(directory: Path, profile: str, template: str, capacity: int, slots: int, exact: bool = False) -> list[Read]:
    """Bills a capture; `exact`: answers came back as they were generated, so the highest value is the only one."""
    without, with_answers = engine(profile, capacity, slots), engine(profile, capacity, slots)
    bills = []
    for one in read(directory, template):
        highest = with_answers.find(one)
        lowest = highest if exact else min(without.find(one), highest)
        bills.append(Read(one.n, len(one.prompt), lowest, highest, one.cached, findings(one, lowest, highest)))
        without.keep(one, False)
        with_answers.keep(one, True)
    return bills


def findings(one: Asked, lowest: int, highest: int) -> list[str]:
    found = []
    if one.total != len(one.prompt):
        found.append(f"prompt: expected {len(one.prompt)} tokens, told {one.total}")
    if one.cached is None:
        found.append("cached tokens are not told")
    elif not lowest <= one.cached <= highest:
        found.append(f"read: expected {lowest if lowest == highest else f'{lowest} to {highest}'} tokens, told {one.cached}")
    return found
