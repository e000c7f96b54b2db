"""A naive model of the provider's prompt cache, and what it says about reported reads and writes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import simulated
from captured import BadInput, Request, Segment
from rendered import rendered

LOOKBACK = 20
TTL_MS = {"5m": 300_000, "1h": 3_600_000}
# Shortest prefix that is cached, in tokens (provider's prompt-caching page and price lists, 2026-11).
MINIMUM = {
    512: "fable-5 fable-5-1 fable-5-2 mythos-5 mythos-5-1 mythos-5-2 opus-5 opus-5-5 sonnet-5-5 haiku-5-5",
    1024: "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5 opus-4-1 opus-4 sonnet-4",
    2048: "opus-4-7 mythos-preview",
    4096: "opus-4-6 opus-4-5 haiku-4-5",
}
MINIMUM_OF = {name: least for least, names in MINIMUM.items() for name in names.split()}
# Which turns keep their thinking (provider's page on extended thinking, 2026-11); of a model not named here, all.
KEEPS = {
    "all": "opus-4-8 opus-4-7 opus-4-6 opus-4-5 sonnet-4-6",
    "last": "opus-4-1 opus-4 sonnet-4-5 sonnet-4 haiku",
}
KEEPS_OF = {name: turns for turns, names in KEEPS.items() for name in names.split()}


def of_model(table: dict[str, Any], model: str) -> Any:
    """Finds the entry whose name is the longest leading part of the model's name."""
    name = model.rsplit("/")[-1].rsplit("anthropic.")[-1].removeprefix("claude-")
    fits = [key for key in table if name == key or name.startswith((key + "-", key + "@"))]
    return table[max(fits, key=len)] if fits else None


@dataclass
class Rules:
    """What the model of the cache can be told."""

    collapse: bool = True  # a run of tool_use, and one of tool_result, is one position
    minimum: int | None = None  # None: by model
    lookback: int = LOOKBACK
    thinking: str | None = None  # of which turns it is kept, `all` or `last`; None: by model
    images: str = "presence"  # whether a prompt has an image is part of its messages' key; or `off`

    def least(self, model: str) -> int:
        """Shortest cached prefix in tokens."""
        least = self.minimum if self.minimum is not None else of_model(MINIMUM_OF, model)
        if least is None:
            raise BadInput(f"the minimum of `{model}` is unknown; give --minimum")
        return least

    def rendered(self, requests: Sequence[Request]) -> list[Request]:
        """The requests as they are cached."""
        return [rendered(one, self.thinking or of_model(KEEPS_OF, one.model) or "all", self.images) for one in requests]


@dataclass
class Entry:
    """A cached prefix; times in milliseconds."""

    ttl: int
    available: int
    expires: int


@dataclass(frozen=True)
class Cuts:
    """Where a bill changes its price, as numbers of segments: read up to `read`, 1h writes up to `hour`, then 5m writes."""

    read: int
    hour: int
    written: int
    end: int


class Cache:
    """Entries exist only at markers and are found by walking back from markers."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.entries: dict[str, Entry] = {}

    def positions(self, segments: Sequence[Segment]) -> list[int]:
        """Numbers the segments as the lookback counts them."""
        numbers: list[int] = []
        for index, one in enumerate(segments):
            before = segments[index - 1].kind if index else None
            run = self.rules.collapse and one.kind == before and one.kind in ("tool_use", "tool_result")
            numbers.append(numbers[-1] if run else (numbers[-1] + 1 if numbers else 0))
        return numbers

    def find(self, request: Request, links: Sequence[str]) -> int:
        """Length of the prefix that is read: the longest within reach of the last marker, else of the one before."""
        position = self.positions(request.segments)
        for last in reversed(request.marked):
            for index in range(last, -1, -1):
                if position[last] - position[index] >= self.rules.lookback:
                    break
                entry = self.entries.get(links[index + 1])
                if entry and entry.available <= request.at < entry.expires:
                    return index + 1
        return 0

    def send(self, request: Request, sizes: Sequence[Fraction]) -> Cuts:
        """Bills a request and, if its answer began, writes its entries. `sizes[k]` is that of the first k segments."""
        links, least = request.chain(), self.rules.least(request.model)
        read = self.find(request, links)
        writes = [index for index in request.marked if index + 1 > read and sizes[index + 1] >= least]
        if request.began:
            for entry in filter(None, map(self.entries.get, links[1 : read + 1])):
                if request.at < entry.expires:
                    entry.expires = max(entry.expires, request.at + entry.ttl)
            for index in writes:
                self.put(links[index + 1], TTL_MS[str(request.segments[index].ttl)], request)
        hour = max((index + 1 for index in writes if request.segments[index].ttl == "1h"), default=read)
        return Cuts(read, hour, max((index + 1 for index in writes), default=read), len(request.segments))

    def put(self, link: str, ttl: int, request: Request) -> None:
        """Adds an entry; one that another request is writing already stays readable as early as that one."""
        assert request.first_byte is not None
        old, available = self.entries.get(link), request.first_byte
        if old and request.at < old.expires:
            ttl, available = max(ttl, old.ttl), min(available, old.available)
        self.entries[link] = Entry(ttl, available, request.at + ttl)


# Tokens.

Counter = Callable[[Segment], int]


def counter(text: str | None) -> Counter | None:
    """Reads `bytes:R` or `chars:R`: a block of n bytes (characters) of source without markers is ceil(n / R) tokens.

    `bytes:3.5+4,image:1500` adds 4 tokens for each block and counts an image as 1,500. `simulator` counts as antefix's
    simulator says it does.
    """
    if text is None:
        return None
    if text == "simulator":
        return simulated.tokens
    rule = re.fullmatch(r"(bytes|chars):(\d+(?:\.\d+)?)(?:\+(\d+))?(?:,image:(\d+))?", text)
    if rule is None or not (per := Fraction(rule[2])):
        raise BadInput(f"--tokens {text}: expected simulator, or bytes:R or chars:R, with +N for each block and ,image:N")

    def count(one: Segment) -> int:
        if one.kind == "image" and rule[4]:
            return int(rule[4])
        source = one.raw if rule[1] == "bytes" else one.raw.decode(errors="replace")
        return math.ceil(len(source) / per) + int(rule[3] or 0)

    return count


@dataclass
class Usage:
    """The input side of a response's usage, in tokens."""

    read: int
    write_5m: int
    write_1h: int
    input: int

    @classmethod
    def of(cls, request: Request) -> Usage | None:
        """Reads what was reported. A write total without its split (a stream's last event has none) counts as 1h if all markers are."""
        usage = request.usage
        if usage is None:
            return None
        written, all_hours = usage.get("cache_creation_input_tokens") or 0, {request.segments[at].ttl for at in request.marked} == {"1h"}
        unsplit = {"ephemeral_1h_input_tokens": written if all_hours else 0}
        hour = (usage.get("cache_creation") or unsplit).get("ephemeral_1h_input_tokens") or 0
        return cls(usage.get("cache_read_input_tokens") or 0, written - hour, hour, usage.get("input_tokens") or 0)

    @property
    def total(self) -> int:
        return self.read + self.write_5m + self.write_1h + self.input


class Sizes:
    """Sizes of prefixes: counted by a rule; or known where a bill names them, and estimated by bytes in between."""

    def __init__(self, count: Counter | None, requests: Sequence[Request] = ()) -> None:
        self.count = count
        self.known: dict[str, int] = {}
        for request in requests:
            self.learn(request)

    def learn(self, request: Request) -> None:
        """Takes what holds whatever the cache did: the size at the last marker if anything was cached, and of it all."""
        usage, links = Usage.of(request), request.chain()
        if usage is None:
            return
        if request.marked and usage.total > usage.input:
            self.known.setdefault(links[request.marked[-1] + 1], usage.total - usage.input)
        self.known.setdefault(links[-1], usage.total)

    def prefixes(self, request: Request) -> list[Fraction]:
        """Size of the first k segments, for each k; behind what is known it goes on at the rate of what is."""
        sizes = [Fraction(0)]
        if self.count:
            for one in request.segments:
                sizes.append(sizes[-1] + self.count(one))
            return sizes
        weight = [0]
        for one in request.segments:
            weight.append(weight[-1] + len(one.raw) + 1)
        fixed = [(0, 0)] + [(at, self.known[link]) for at, link in enumerate(request.chain()) if at and link in self.known]
        for (start, low), (stop, high) in zip(fixed, fixed[1:]):
            rate = Fraction(high - low, weight[stop] - weight[start])
            sizes += [low + rate * (weight[at] - weight[start]) for at in range(start + 1, stop + 1)]
        last, tokens = fixed[-1]
        rate = Fraction(tokens, weight[last]) if last else Fraction(1, 4)
        return sizes + [tokens + rate * (weight[at] - weight[last]) for at in range(last + 1, len(weight))]


# Bills.


@dataclass
class Bill:
    """The model's bill of a request beside the reported one."""

    n: int
    cuts: Cuts
    expected: Usage | None = None
    reported: Usage | None = None
    findings: list[str] = field(default_factory=list)
    not_covered: str = ""  # why nothing is said of it


def not_covered(request: Request) -> str:
    """Why a request cannot be judged: what the provider has left out of its prompt stands in no capture."""
    iterations = (request.usage or {}).get("iterations") or []
    if any(one.get("type") == "compaction" for one in iterations):
        return "the provider summarised the conversation on the way, and no capture holds the summary"
    edits = dict(request.lane).get("context_management", "")
    return "it asks for results or thinking to be cleared, and which were is not told" if '"clear_' in edits else ""


def priced(cuts: Cuts, sizes: Sequence[Fraction]) -> Usage:
    """Turns cuts into tokens."""
    read, hour, written, end = (int(sizes[at]) for at in dataclasses.astuple(cuts))
    return Usage(read, written - hour, hour - read, end - written)


def exact(expected: Usage, reported: Usage, has_split: bool) -> list[str]:
    """Compares each category to the token; without a split of the writes, their total."""
    if not has_split:
        expected, reported = (Usage(one.read, one.write_5m + one.write_1h, 0, one.input) for one in (expected, reported))
    pairs = [(name, want, getattr(reported, name)) for name, want in dataclasses.asdict(expected).items()]
    return [f"{name}: expected {want}, reported {got}" for name, want, got in pairs if want != got]


def bounded(cuts: Cuts, request: Request, usage: Usage, known: dict[str, tuple[int, int]]) -> list[str]:
    """Without a token rule: equal prefixes must have equal sizes in all bills, and longer ones more tokens.

    Input behind a marker on the last block is not judged: the provider counts a few tokens there.
    """
    links, findings = request.chain(), []
    says = [("read", cuts.read, usage.read), ("read and written", cuts.written, usage.total - usage.input)]
    if (request.usage or {}).get("cache_creation"):
        says.insert(1, ("read and written for 1h", cuts.hour, usage.read + usage.write_1h))
    if cuts.end > cuts.written:
        says.append(("whole prompt", cuts.end, usage.total))
    for name, at, tokens in says:
        if (at == 0) != (tokens == 0):
            findings.append(f"{name}: expected the first {at} of {cuts.end} segments, reported {tokens} tokens")
        elif at and (before := known.setdefault(links[at], (tokens, request.n)))[0] != tokens:
            findings.append(f"{name}: {at} segments are {before[0]} tokens in #{before[1]}, here {tokens}")
    path = [(at, *known[link]) for at, link in enumerate(links) if at and link in known]
    for (short, few, source), (long, many, other) in zip(path, path[1:]):
        if few >= many:
            findings.append(f"{short} segments are {few} tokens (#{source}) but {long} segments are {many} (#{other})")
    return findings


def bill(requests: Sequence[Request], rules: Rules, count: Counter | None = None) -> list[Bill]:
    """Bills a capture with the model and compares."""
    if not any(request.usage for request in requests):
        raise BadInput("no captured response has a usage")
    requests = rules.rendered(requests)
    sizes = Sizes(count, [one for one in requests if not not_covered(one)])
    cache, known, bills = Cache(rules), dict[str, tuple[int, int]](), []
    for request in requests:
        prefixes = sizes.prefixes(request)
        one = Bill(request.n, cache.send(request, prefixes))
        one.reported, one.not_covered = Usage.of(request), not_covered(request)
        if one.reported is not None and not one.not_covered:
            one.expected, has_split = priced(one.cuts, prefixes) if count else None, bool((request.usage or {}).get("cache_creation"))
            one.findings = exact(one.expected, one.reported, has_split) if one.expected else bounded(one.cuts, request, one.reported, known)
        bills.append(one)
    return bills
