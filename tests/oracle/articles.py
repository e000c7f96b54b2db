"""The arithmetic of the four articles antefix answers to, recomputed with the naive cache model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cache_model import Cache, Rules, Sizes, Usage, counter, priced
from captured import Request, Segment
from perfect import Prices

UNITS = Prices(Fraction(1), Fraction("1.25"), Fraction(2), Fraction("0.1"))
Block = tuple[str, int, str | None]  # content, tokens, marker


@dataclass(frozen=True)
class Claim:
    """A figure of an article beside the one recomputed here."""

    name: str
    stated: str
    computed: str

    @property
    def ok(self) -> bool:
        return self.stated == self.computed


def usages(prompts: Sequence[Sequence[Block]]) -> list[Usage]:
    """Sends prompts a minute apart through the model, one byte of text for each token."""
    cache, sizes, result = Cache(Rules(minimum=1)), Sizes(counter("bytes:1")), []
    for n, blocks in enumerate(prompts):
        segments = [Segment(name, "messages", "text", name, b"." * tokens, ttl) for name, tokens, ttl in blocks]
        request = Request(n, n * 60_000, n * 60_000 + 1, 200, None, "any", (), segments)
        prefixes = sizes.prefixes(request)
        result.append(priced(cache.send(request, prefixes), prefixes))
    return result


def thousands(units: Fraction | int) -> str:
    return f"{float(units) / 1000:g}k"


def process_per_message() -> list[Claim]:
    """A note rebuilt by each process stands in front of 45k messages: they are written again each time."""

    def prompt(note: str) -> list[Block]:
        return [("system", 15_000, "5m"), (note, 500, None), ("history", 44_500, "5m")]

    broken, kept = usages([prompt("note 1"), prompt("note 2")])[1], usages([prompt("note 1"), prompt("note 1")])[1]
    ratio = UNITS.cost(broken) / UNITS.cost(kept)
    return [
        Claim("process per message: read, written", "15k, 45k", f"{thousands(broken.read)}, {thousands(broken.write_5m)}"),
        Claim("process per message: cost units", "57.75k", thousands(UNITS.cost(broken))),
        Claim("same prefix: cost units", "6k", thousands(UNITS.cost(kept))),
        Claim("times dearer", "9.6", f"{float(ratio):.1f}"),
        Claim("process per message: efficiency", "25 %", f"{100 * Fraction(broken.read, broken.total)} %"),
    ]


def running(ratios: Sequence[Fraction], weights: Sequence[Fraction]) -> list[Fraction]:
    """Turns ratios of single messages into the ratio of the session so far."""
    return [sum((r * w for r, w in zip(ratios[:n], weights)), Fraction(0)) / sum(weights[:n]) for n in range(1, len(ratios) + 1)]


def running_totals() -> list[Claim]:
    """20, 60, 73, 84 % are totals of the session: three messages of one size, a fourth of six times that size."""
    single = [Fraction(text) for text in ("20", "99.8", "99.8", "89.6")]
    even = running(single, [Fraction(1)] * 4)
    totals = running(single, [Fraction(1)] * 3 + [Fraction(6)])
    last = (3 * (84 - even[2])) / (single[3] - 84)
    return [
        Claim("running totals of 20, 99.8, 99.8, 89.6 %", "20, 60, 73, 84", ", ".join(str(round(ratio)) for ratio in totals)),
        Claim("weight of message four that gives 84 %", "5.8", f"{float(last):.1f}"),
        Claim("all four of one size would be", "77", str(round(even[3]))),
    ]


def nine_rounds() -> list[Claim]:
    """Tools found in rounds 3, 6 and 8: an array that grows misses there; deferred tools stand outside the prefix."""
    sizes = [7, 13, 20, 27, 33, 40, 50, 60, 66]

    def prompt(upto: int, growing: bool) -> list[Block]:
        found: list[Block] = [(f"tool {at}", 200, None) for at in (3, 6, 8) if at <= upto]
        steps: list[Block] = [(f"round {at + 1}", 1000 * (sizes[at] - (sizes[at - 1] if at else 0)), None) for at in range(upto)]
        steps[-1] = (*steps[-1][:2], "5m")
        if growing:
            return [("tools", 0, None), *found, ("system", 0, "5m"), *steps]
        for tool in found:
            steps.insert([name for name, _, _ in steps].index(tool[0].replace("tool", "round")), tool)
        return [("tools", 0, None), ("system", 0, "5m"), *steps]

    growing, deferred = (usages([prompt(upto, mode) for upto in range(1, 10)]) for mode in (True, False))
    missed = [(n, usage) for n, usage in enumerate(growing, 1) if n > 1 and usage.read == 0]
    whole = all(after.read == before.total for before, after in zip(deferred, deferred[1:]))
    return [
        Claim("growing array: rounds that miss", "3, 6, 8", ", ".join(str(n) for n, _ in missed)),
        Claim("growing array: missed tokens, about", "20k, 40k, 60k", ", ".join(f"{u.write_5m // 10_000}0k" for _, u in missed)),
        Claim("deferred: every round reads all that was sent before", "True", str(whole)),
    ]


def five_turns() -> list[Claim]:
    """Five turns on an 8k head."""

    def turns(ttl: str | None) -> list[list[Block]]:
        return [[("head", 8_000, ttl), (f"turn {n}", 0, None)] for n in range(5)]

    plain = sum((UNITS.cost(usage) for usage in usages(turns(None))), Fraction(0))
    marked = sum((UNITS.cost(usage) for usage in usages(turns("5m"))), Fraction(0))
    return [
        Claim("five turns, 8k head, no cache", "40k", thousands(plain)),
        Claim("five turns, 8k head, cached", "13.2k", thousands(marked)),
        Claim("without the premium of the write", "11.2k", thousands(marked - 8_000 * (UNITS.write_5m - 1))),
    ]


def articles() -> list[Claim]:
    return [*process_per_message(), *running_totals(), *nine_rounds(), *five_turns()]
