#!/usr/bin/env python3
"""Judges the bills of many captures in one process, each by the rules its folder states.

    judge_many.py DIR   each folder in DIR is a capture; its file `arguments` has the arguments of `oracle.py bill`

Prints each request with a finding, then `N passed, N failed`. Exit status: 0 all fine, 1 a finding, 2 bad input.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cache_model import Bill, bill, counter
from captured import BadInput, read_capture
from oracle import arguments, rules


def judged(folder: Path) -> list[Bill]:
    """Bills of one folder, to the token."""
    stated = (folder / "arguments").read_text().split()
    options = arguments().parse_args(["bill", str(folder), "--tokens", "simulator", *stated])
    bills = bill(read_capture(options.directory), rules(options), counter(options.tokens))
    for one in bills:
        if one.findings:
            print(f"{folder.name} #{one.n} ({' '.join(stated)}): {'; '.join(one.findings)}")
    return bills


def main(directory: str) -> int:
    folders = sorted(path for path in Path(directory).iterdir() if path.is_dir())
    try:
        bills = [one for folder in folders for one in judged(folder)]
    except (OSError, BadInput) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failed = sum(bool(one.findings) or one.expected is None for one in bills)
    print(f"{len(bills) - failed} passed, {failed} failed")
    return 1 if failed or not bills else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
