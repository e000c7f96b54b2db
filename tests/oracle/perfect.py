"""What a captured conversation had to cost: each position written once and read ever after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cache_model import Counter, Rules, Sizes, Usage, of_model
from captured import BadInput, Request, Segment

# $/MTok on 2026-11-30: input, 5m write, 1h write, read.
PRICES = {
    "fable-5-2 mythos-5-2": "8 10 16 0.20",
    "fable-5-1 mythos-5-1": "10 12.5 20 0.25",
    "fable-5 mythos-5": "10 12.5 20 1",
    "opus-5-5": "4 5 8 0.20",
    "opus-5 opus-4-8 opus-4-7 opus-4-6 opus-4-5": "5 6.25 10 0.50",
    "sonnet-5-5": "2 2.5 4 0.10",
    "sonnet-5": "2 2.5 4 0.20",
    "sonnet-4-6 sonnet-4-5": "3 3.75 6 0.30",
    "haiku-5-5": "0.10 0.125 0.20 0.01",
    "haiku-4-5": "1 1.25 2 0.10",
    "opus-4-1 opus-4": "15 18.75 30 1.50",
}
PRICE_OF = {name: row for names, row in PRICES.items() for name in names.split()}
# A prompt above the threshold is billed at these as a whole.
LONG_PRICE_OF = {"haiku-5-5": (100_000, "0.50 0.625 1.00 0.05"), "sonnet-4-5": (200_000, "6 7.5 12 0.6")}
SLOTS = ("read", "write_5m", "write_1h", "input")


@dataclass(frozen=True)
class Prices:
    """Prices of an input token, in any one unit."""

    input: Fraction
    write_5m: Fraction
    write_1h: Fraction
    read: Fraction

    def cost(self, usage: Usage | dict[str, Fraction]) -> Fraction:
        tokens = usage if isinstance(usage, dict) else vars(usage)
        return sum((getattr(self, slot) * tokens[slot] for slot in SLOTS), Fraction(0))


def price_list(model: str, total: int) -> Prices:
    """$ per token on the Claude API by model and size of the prompt, without modifiers (batch, geography, speed)."""
    row, long = of_model(PRICE_OF, model), of_model(LONG_PRICE_OF, model)
    if row is None:
        raise BadInput(f"the price of `{model}` is unknown; give --read, --write5m or --write1h")
    return Prices(*(Fraction(price) / 1_000_000 for price in (long[1] if long and total > long[0] else row).split()))


@dataclass
class Ideal:
    """What a request cost, what it had to cost, and what it would have cost without a cache."""

    n: int
    actual: Fraction
    perfect: Fraction
    uncached: Fraction


def tiers(segments: Sequence[Segment]) -> list[str]:
    """The tier in force for each segment: the next marker's; behind the last marker that one's; without any, 5m."""
    current = next((one.ttl for one in reversed(segments) if one.ttl), "5m")
    result: list[str] = []
    for one in reversed(segments):
        current = one.ttl or current
        result.append(current)
    return result[::-1]


def perfect(requests: Sequence[Request], rules: Rules, price: Callable[[str, int], Prices], count: Counter | None = None) -> list[Ideal]:
    """Charges each position once for writing and ever after for reading; a prompt below the minimum as plain input.

    A position is known by its *content* within its lane: text that is written again because something in front of it
    changed is waste, and a changed block costs itself alone. Expiry, lookback and concurrency are waste too.
    """
    requests = rules.rendered(requests)
    sizes, seen, result = Sizes(count, requests), set[tuple[object, str, int]](), list[Ideal]()
    for request in requests:
        prefixes, usage = sizes.prefixes(request), Usage.of(request)
        cacheable = (usage.total if usage else prefixes[-1]) >= rules.least(request.model)
        times, best = dict[str, int](), dict.fromkeys(SLOTS, Fraction(0))
        for index, (one, tier) in enumerate(zip(request.segments, tiers(request.segments))):
            times[one.text] = times.get(one.text, 0) + 1
            key = (request.lane, one.text, times[one.text])
            slot = "input" if not cacheable else "read" if key in seen else f"write_{tier}"
            best[slot] += prefixes[index + 1] - prefixes[index]
            if cacheable and request.began:
                seen.add(key)
        if usage:
            prices = price(request.model, usage.total)
            result.append(Ideal(request.n, prices.cost(usage), prices.cost(best), prices.input * usage.total))
    if not result:
        raise BadInput("no captured response has a usage")
    return result
