#!/usr/bin/env python3
"""Judges the cells of `antefix conform self` anew, from their captured requests alone.

    conform.py REPORT   what `antefix conform self --json --keep DIR` printed; each cell names the folder of its capture

`cell.json` in a capture says which requests belong to which message; all else is read from the bodies and the usage.
Exit status: 0 every cell is as declared and as reported, 1 a finding, 2 bad input.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import chat_model
import tool_changes
from cache_model import Rules, bill, counter
from captured import BadInput, Request, Segment, read_capture
from lineage import bytes_difference, shared_segments
from source import parse

MESSAGES = {"anthropic-in-band", "anthropic-without"}
ENGINES = {
    "openai-chat-append-only": ("vllm", "append-only"),
    "openai-chat-strict": ("llamacpp", "strict-alternation"),
    "openai-chat-reasoning-stripping": ("vllm", "reasoning-stripping"),
    "openai-chat-tools-late": ("llamacpp", "tools-late"),
    "openai-chat-dated": ("vllm", "dated"),
}
BLOCK = {column: 16 for column, (profile, _) in ENGINES.items() if profile == "vllm"}  # vLLM keeps full blocks alone
# With each message of the user's, the template moves something in the middle of the prompt: no row reads all.
MOVING = {"openai-chat-reasoning-stripping", "openai-chat-tools-late"}
PRECISION = Fraction(2, 1_000_000)  # shares are printed in millionths, rounded down


class Cell:
    """One capture, with what its own description says of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.about = json.loads((folder / "cell.json").read_bytes())
        except (OSError, ValueError) as error:
            raise BadInput(f"{folder}: {error}") from error
        self.column = str(self.about["column"])
        self.requests = {one.n: one for one in read_capture(folder)}

    def before(self, number: int) -> Request:
        """The request whose prompt this one has to keep: the one before it that was answered."""
        goes_back = self.about["goes_back"] and number == self.about["message"][0]
        end = self.about["task"] + 1 if goes_back else number
        found = [one for one in self.requests.values() if one.n < end and one.status == 200]
        if not found:
            raise BadInput(f"{self.folder}: nothing was answered before request {number}")
        return max(found, key=lambda one: one.n)

    def total(self, request: Request) -> int:
        """Tokens of a prompt; counted where the connection was cut before they were told."""
        usage = request.usage
        if self.column in MESSAGES:
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            return sum(int((usage or {}).get(name) or 0) for name in names)
        if usage:
            return int(usage["prompt_tokens"])
        body = parse((self.folder / f"{request.n:06}.body.json").read_bytes())
        return len(chat_model.prompt(body, ENGINES[self.column][1], request.at))

    def read(self, request: Request) -> int:
        """Tokens that the server says were read."""
        usage = request.usage or {}
        if self.column in MESSAGES:
            return int(usage.get("cache_read_input_tokens") or 0)
        return int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)

    def shares(self, numbers: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The least that any of these requests keeps of the one before it, in positions, and reads of it, in tokens."""
        kept, cached = Fraction(1), Fraction(1)
        for number in numbers:
            request, earlier = self.requests[number], self.before(number)
            kept = min(kept, Fraction(same_positions(earlier, request), len(earlier.segments)))
            total = self.total(earlier)
            cached = min(cached, Fraction(min(self.read(request), total), total))
        return kept, cached

    def enough(self, cached: Fraction, expected: Fraction, number: int) -> bool:
        return cached + Fraction(BLOCK.get(self.column, 0), self.total(self.before(number))) + PRECISION >= expected

    def said(self, number: int, behind: int) -> list[Segment]:
        """What anyone but the model says behind the first positions."""
        return [one for one in self.requests[number].segments[behind:] if one.section == "messages" and one.role != "assistant"]

    def only_says(self, number: int, prompt: str) -> Iterator[str]:
        said = self.said(number, len(self.before(number).segments))
        if len(said) != 1 or json.dumps(prompt).encode() not in said[0].raw:
            yield f"request {number} says more than the user does"


def same_positions(earlier: Request, later: Request) -> int:
    """How many positions of the earlier prompt stand at the front of the later one, bytes and all."""
    shared = shared_segments(earlier, later)
    found = bytes_difference(earlier, later, shared)
    if found is None:
        return shared
    return next(at for at, one in enumerate(earlier.segments) if (one.pointer + "/").startswith(found["earlier"] + "/"))


def told(cell: Cell) -> Iterator[str]:
    """Each change is told once: with the message behind it, and never again."""
    first, last = cell.about["message"][0], cell.about["again"][-1]
    old = len(cell.requests[cell.about["task"]].segments)
    for word in cell.about["told"]:
        times = [sum(one.raw.decode().count(word) for one in cell.said(number, old)) for number in (first, last)]
        if times != [1, 1]:
            yield f"`{word}` is told {times[0]} times with the message and {times[1]} times in the end"
    if cell.about["says_nothing"]:
        yield from cell.only_says(first, cell.about["prompt"])
    yield from cell.only_says(cell.about["again"][0], cell.about["again_prompt"])


def are_these(found, declared):
    """Whether changes are those that were declared; one that ends in `*` stands for one or more that begin so."""
    rest = list(found)
    for change in declared:
        fits = (lambda one: one.startswith(change[:-1])) if change.endswith("*") else (lambda one: one == change)
        count = 0
        while count < len(rest) and fits(rest[count]) and (change.endswith("*") or count == 0):
            count += 1
        if count == 0:
            return False
        rest = rest[count:]
    return not rest


def changed(cell: Cell) -> Iterator[str]:
    """Tools are withdrawn and offered as declared, once, by the provider's rules, and under one set of betas."""
    if cell.column not in MESSAGES:
        return
    read = {n: tool_changes.read((cell.folder / f"{n:06}.body.json").read_bytes(), dict(one.lane)["betas"]) for n, one in cell.requests.items()}
    for n, one in read.items():
        yield from (f"request {n}: {finding}" for finding in one.findings)
    old = len(read[cell.about["task"]].changes)
    for n in (cell.about["message"][0], cell.about["again"][-1]):
        found = [change for _, change in read[n].changes[old:]]
        if not are_these(found, cell.about["changes"]):
            yield f"request {n} changes tools by {found}, and is declared to by {cell.about['changes']}"
    sets = {dict(one.lane)["betas"] for one in cell.requests.values() if one.model == cell.requests[cell.about["task"]].model}
    if len(sets) > 1:
        yield f"the set of betas changes: {sorted(sets)}"


def billed(cell: Cell) -> Iterator[str]:
    """Does the server's bill agree with our own model of its cache?"""
    if any(one.usage is None for one in cell.requests.values()):
        return  # cut off before it was told
    if cell.column in MESSAGES:
        for one in bill(list(cell.requests.values()), Rules(), counter("simulator")):
            if one.not_covered:
                print(f"{cell.folder}: the bill of request {one.n} is not covered: {one.not_covered}")
            yield from (f"request {one.n}: {finding}" for finding in one.findings)
    else:
        profile, template = ENGINES[cell.column]
        for read in chat_model.bill(cell.folder, profile, template, 8_192, 4):
            yield from (f"request {read.n}: {finding}" for finding in read.findings)


def judge(cell: Cell, expected: Fraction) -> tuple[Fraction, Fraction, list[str]]:
    """Judges a cell; gives what is kept, what is read, and what is not as declared."""
    declared, message, again = cell.about["declared"], cell.about["message"], cell.about["again"]
    if not message or not again:
        raise BadInput(f"{cell.folder}: a message without a request")
    kept, cached = cell.shares(message)
    whole = kept == 1 and cell.enough(cached, expected, message[0])
    findings = [f"request {n} was answered with {cell.requests[n].status}" for n in (*message, *again) if cell.requests[n].status != 200]
    if declared == "kept" and not whole:
        findings.append(f"kept {float(kept):.4f}, read {float(cached):.4f}")
    if declared != "kept" and whole:
        findings.append(f"declared {declared}, but nothing is lost")
    if declared == "provider-limited" and kept != 1:
        findings.append("bytes have changed")
    later = cell.shares(again)
    if later[0] != 1 or not (cell.about["loses_on"] or cell.enough(later[1], expected, again[0])):
        findings.append("the third message does not keep and read all")
    return kept, cached, findings + list(told(cell)) + list(changed(cell)) + list(billed(cell))


def compare(reported: dict[str, Any]) -> list[str]:
    """What is wrong with a cell, or with what was reported of it."""
    folder = Path(reported["capture"])
    cell = Cell(folder)
    unchanged = Cell(folder.parent.parent / "unchanged" / str(reported["column"]))
    expected = unchanged.shares(unchanged.about["message"])[1]
    kept, cached, findings = judge(cell, Fraction(1) if cell.column in MOVING else expected)
    for name, own in (("old_prefix_kept", kept), ("cached_share", cached), ("expected_share", expected)):
        if abs(Fraction(str(reported[name])) - own) > PRECISION:
            findings.append(f"{name} is reported as {reported[name]}, and is {float(own):.6f}")
    for name in ("row", "column", "declared"):
        if reported[name] != cell.about[name]:
            findings.append(f"the capture is of {name} `{cell.about[name]}`")
    if reported["told"] is not (True if cell.about["told"] else None):
        findings.append(f"told is reported as {reported['told']}")
    if reported["declared"] != "kept" and not reported["source"]:
        findings.append("a loss without a source")
    if reported["ok"] is not True:
        findings.append("it is reported as not as declared")
    return findings


def main(report: str) -> int:
    try:
        cells = json.loads(Path(report).read_bytes())["cells"]
        found = [(f"{one['row']} / {one['column']}", compare(one)) for one in cells]
    except (OSError, ValueError, LookupError, TypeError, BadInput) as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for name, findings in found:
        for finding in findings:
            print(f"{name}: {finding}")
    bad = sum(bool(findings) for _, findings in found)
    print(f"{len(found) - bad} of {len(found)} cells are as declared and as reported")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
