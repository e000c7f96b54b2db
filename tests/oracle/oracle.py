#!/usr/bin/env python3
"""An independent judge of captured request bodies, written from the providers' documented rules alone.

A capture directory holds `NNNNNN.body.json` (the body as sent) and `NNNNNN.meta.json` (time, headers, usage).

    oracle.py extends  DIR   does each request extend what its lane sent before, as plain text and as bytes?
    oracle.py bill     DIR   do the reported reads and writes agree with a naive model of the prompt cache?
    oracle.py engine   DIR   the same for a server of Chat Completions: rendered, cut into tokens and cached by our own reading
    oracle.py perfect  DIR   what would the same conversation cost with each position written once?
    oracle.py articles       the arithmetic antefix was asked to explain, as assertions

Exit status: 0 all fine, 1 a finding, 2 bad input. It shares no code with the product and uses the standard library only.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import chat_model
from articles import articles
from cache_model import LOOKBACK, Rules, bill, counter, not_covered
from captured import BadInput, Request, read_capture
from lineage import extends
from perfect import Prices, perfect, price_list


class Report:
    """Rows for a reader, the same data for a program, and whether all is fine."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], data: Any, ok: bool, foot: str = "") -> None:
        self.columns, self.rows, self.data, self.ok, self.foot = columns, rows, data, ok, foot

    def show(self, as_json: bool) -> str:
        if as_json:
            return json.dumps({"ok": self.ok, **self.data}, indent=1, default=lambda value: float(round(value, 9)))
        cells = [list(self.columns), *([("-" if cell is None else str(cell)) for cell in row] for row in self.rows)]
        widths = [max(len(row[at]) for row in cells) for at in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        return "\n".join(lines + ([self.foot] if self.foot else []))


def report_extends(options: argparse.Namespace) -> Report:
    verdicts = extends(
        read_capture(options.directory), options.require, options.new_conversation_ok, options.lane_change_ok, options.bytes == "require"
    )
    rows = []
    for one in verdicts:
        found = one.difference
        why = (
            f"{found['earlier']} -> {found['later']} +{found['offset']}: {found['earlier_text']!r} -> {found['later_text']!r}"
            if found
            else ""
        )
        why = f"lane changed: {', '.join(one.lane_changed)} {why}" if one.lane_changed else why
        rows.append((one.n, one.verdict, one.against, f"{one.shared}/{one.segments}", one.bytes_equal, "ok" if one.ok else "FINDING", why))
    bad = sum(not one.ok for one in verdicts)
    return Report(
        ("request", "verdict", "against", "shared", "bytes equal", "judged", "first difference"),
        rows,
        {"requests": [dataclasses.asdict(one) for one in verdicts]},
        not bad,
        f"{bad} of {len(verdicts)} requests with a finding",
    )


def messages(directory: Path) -> list[Request]:
    """Reads a capture of the Messages API."""
    requests = read_capture(directory)
    if any(path.endswith("/chat/completions") for request in requests for key, path in request.lane if key == "path"):
        raise BadInput("Chat Completions have no markers: judge them with `engine`")
    return requests


def rules(options: argparse.Namespace) -> Rules:
    return Rules(options.collapse == "yes", options.minimum, options.lookback, options.thinking, options.images)


def report_bill(options: argparse.Namespace) -> Report:
    bills = bill(messages(options.directory), rules(options), counter(options.tokens))
    names = ("read", "write_5m", "write_1h", "input")
    rows = []
    for one in bills:
        figures = [
            (str(getattr(one.reported, name)) if one.reported else "-") + (f" ({getattr(one.expected, name)})" if one.expected else "")
            for name in names
        ]
        rows.append((one.n, *figures, "/".join(map(str, dataclasses.astuple(one.cuts))), "; ".join(one.findings) or (f"not covered: {one.not_covered}" if one.not_covered else "ok")))
    bad = sum(bool(one.findings) for one in bills)
    silent = sum(one.reported is None for one in bills)
    open_ = sum(bool(one.not_covered) for one in bills)
    return Report(
        ("request", *names, "cuts read/1h/written/all", "findings"),
        rows,
        {"requests": [dataclasses.asdict(one) for one in bills]},
        not bad,
        f"{bad} of {len(bills)} requests with a finding, {silent} without a reported usage, {open_} not covered; expected figures in brackets",
    )


def report_engine(options: argparse.Namespace) -> Report:
    bills = chat_model.bill(options.directory, options.profile, options.template_class, options.capacity, options.slots, options.exact)
    rows = [(one.n, one.prompt, f"{one.lowest} to {one.highest}", one.told, "; ".join(one.findings) or "ok") for one in bills]
    bad = sum(bool(one.findings) for one in bills)
    return Report(
        ("request", "prompt tokens", "expected read", "told", "findings"),
        rows,
        {"requests": [dataclasses.asdict(one) for one in bills]},
        not bad,
        f"{bad} of {len(bills)} requests with a finding",
    )


def report_perfect(options: argparse.Namespace) -> Report:
    multiples = (options.write5m, options.write1h, options.read)
    units = any(value is not None for value in multiples)
    fixed = Prices(Fraction(1), *(Fraction(value or usual) for value, usual in zip(multiples, ("1.25", "2", "0.1"))))
    captured = messages(options.directory)
    for one in captured:
        if why := not_covered(one):
            raise BadInput(f"request {one.n} is not covered: {why}")
    ideals = perfect(captured, rules(options), (lambda *_: fixed) if units else price_list, counter(options.tokens))
    actual, best = sum(one.actual for one in ideals), sum(one.perfect for one in ideals)
    ratio = actual / best if best else Fraction(1)
    rows = [(one.n, *(f"{float(cost):.6f}" for cost in (one.actual, one.perfect, one.uncached))) for one in ideals]
    unit = "input-token units" if units else "$"
    ok = options.max_ratio is None or ratio <= Fraction(options.max_ratio)
    return Report(
        ("request", "actual", "perfect", "no cache"),
        rows,
        {"unit": unit, "actual": actual, "perfect": best, "ratio": ratio, "requests": [dataclasses.asdict(one) for one in ideals]},
        ok,
        f"input cost of the capture in {unit}: actual {float(actual):.6f}, perfect {float(best):.6f}, ratio {float(ratio):.4f}"
        + ("" if ok else f" > {options.max_ratio}"),
    )


def report_articles(_: argparse.Namespace) -> Report:
    claims = articles()
    return Report(
        ("claim", "stated", "computed", ""),
        [(one.name, one.stated, one.computed, "ok" if one.ok else "FINDING") for one in claims],
        {"claims": [dataclasses.asdict(one) for one in claims]},
        all(one.ok for one in claims),
    )


def number(text: str) -> str:
    """Checks a decimal number, which is kept as text so that it stays exact."""
    Fraction(text)
    return text


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object")
    capture = argparse.ArgumentParser(add_help=False)
    capture.add_argument("directory", type=Path, metavar="DIR")
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("--collapse", choices=("yes", "no"), default="yes", help="a run of tool_use (tool_result) is one position")
    model.add_argument("--lookback", type=int, default=LOOKBACK, help="positions tested from a marker, itself included")
    model.add_argument("--minimum", type=int, help="shortest cached prefix in tokens (default: by model)")
    model.add_argument("--thinking", choices=("all", "last"), help="of which turns it is kept (default: by model)")
    model.add_argument("--images", choices=("presence", "off"), default="presence", help="what they add to the messages' key")
    model.add_argument(
        "--tokens", help="token rule: simulator, or bytes:R or chars:R, e.g. bytes:3.5+4,image:1500; without it sizes are solved from the reported totals"
    )
    one = commands.add_parser("extends", parents=[common, capture], help="judge prefixes")
    one.add_argument("--require", choices=("extends", "branches"), default="extends")
    one.add_argument("--new-conversation-ok", action="store_true", help="requests without an assistant turn may begin anew")
    one.add_argument("--lane-change-ok", action="store_true", help="a history may move to another model, effort, beta set …")
    one.add_argument("--bytes", choices=("require", "report"), default="require", help="whether differing bytes are a finding")
    two = commands.add_parser("bill", parents=[common, capture, model], help="recompute reads and writes")
    three = commands.add_parser("perfect", parents=[common, capture, model], help="compare with the perfect cost")
    for name in ("read", "write5m", "write1h"):
        three.add_argument(f"--{name}", type=number, help="multiple of the input price (default: $ by model)")
    three.add_argument("--max-ratio", type=number, help="actual / perfect above this is a finding")
    four = commands.add_parser("articles", parents=[common], help="check the articles' arithmetic")
    five = commands.add_parser("engine", parents=[common, capture], help="recompute what an engine read")
    five.add_argument("--profile", choices=chat_model.PROFILES, default="vllm")
    five.add_argument("--template-class", choices=chat_model.CLASSES, default="append-only")
    five.add_argument("--capacity", type=int, default=8_192, help="vllm: blocks that are kept")
    five.add_argument("--slots", type=int, default=4, help="llamacpp: how many there are")
    five.add_argument("--exact", action="store_true", help="answers came back as they were generated")
    reports = (report_extends, report_bill, report_perfect, report_articles, report_engine)
    for command, report in zip((one, two, three, four, five), reports):
        command.set_defaults(report=report)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    try:
        report = options.report(options)
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report.show(options.json))
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
