#!/usr/bin/env python3
"""Makes seeded mutations of the workspace one at a time and expects the tests to fail. See README.md."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIMEOUT_SECONDS = 240


class TableError(Exception):
    """A table that cannot be read, or does not fit the code."""


@dataclass
class Mutation:
    table: str
    name: str
    test: list
    file: str
    find: str
    replacement: str = None


def read_table(path):
    mutations, test, file, name, find = [], None, None, None, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        rest = rest.strip() if word in ("test", "in", "mutation") else rest.lstrip()
        if word == "test":
            test = rest.split()
        elif word == "in":
            file = rest
        elif word == "mutation":
            name, find = rest, None
        elif word == "find":
            find = rest
        elif word == "with" and test and file and name and find:
            mutations.append(Mutation(path.stem, name, test, file, find, rest))
            name = find = None
        else:
            raise TableError(f"{path}:{number}: `{line}` is not expected here")
    return mutations


def copy_workspace(to):
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    for name in map(os.fsdecode, filter(None, names)):
        source = ROOT / name
        if source.is_file():
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())


def check_fits(mutation, workspace):
    path = workspace / mutation.file
    found = path.read_text().count(mutation.find) if path.is_file() else 0
    if found != 1:
        raise TableError(f"{mutation.table}: {mutation.name}: found {found} times in {mutation.file}")


def build(test, workspace, target):
    """Builds the unchanged code's tests, however long that takes."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "test", "--quiet", "--no-run", *test]
    subprocess.run(command, cwd=workspace, env=environment, check=False)


def is_green(test, workspace, target):
    """Whether the tests pass, and which does not; `None` if the code does not build."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "RUST_BACKTRACE": "0"}
    command = ["cargo", "test", "--quiet", *test]
    process = subprocess.Popen(
        command,
        cwd=workspace,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        # A test that no longer ends is red as well.
        os.killpg(process.pid, 9)
        process.communicate()
        return False, "it no longer ends"
    if "error: could not compile" in output:
        return None, next(line for line in output.splitlines() if line.startswith("error"))
    failed = [line.split()[1] for line in output.splitlines() if line.startswith("---- ")]
    return process.returncode == 0, failed[0] if failed else "the test process failed"


def try_one(mutation, workspace, target):
    path = workspace / mutation.file
    original = path.read_text()
    started = time.monotonic()
    path.write_text(original.replace(mutation.find, mutation.replacement))
    try:
        green, why = is_green(mutation.test, workspace, target)
    finally:
        path.write_text(original)
    seconds = time.monotonic() - started
    verdict = {True: "SURVIVES", False: "red", None: "NO BUILD"}[green]
    print(f"{verdict:8} {seconds:5.1f} s  {mutation.table}: {mutation.name}", end="")
    print("" if green else f"  [{why}]", flush=True)
    return green is False


def sample(mutations, number):
    """That many of them, all if it is 0: another choice whenever a table changes, the same one until then."""
    if not 0 < number < len(mutations):
        return mutations
    seed = repr([(mutation.name, mutation.find, mutation.replacement) for mutation in mutations])

    def place(mutation):
        return hashlib.sha256((seed + mutation.table + mutation.name).encode()).digest()

    chosen = sorted(mutations, key=place)[:number]
    print(f"{number} of {len(mutations)} mutations, chosen by what the tables hold")
    return [mutation for mutation in mutations if mutation in chosen]


def run(mutations, workspace, target):
    for test in {tuple(mutation.test): None for mutation in mutations}:
        build(list(test), workspace, target)
        green, why = is_green(list(test), workspace, target)
        if not green:
            print(f"the unchanged code is not green under `cargo test {' '.join(test)}`: {why}")
            return 1
    red = sum(try_one(mutation, workspace, target) for mutation in mutations)
    print(f"{red} passed, {len(mutations) - red} failed")
    return 0 if red == len(mutations) else 1


def main(arguments):
    options = {"--only": "", "--sample": "0"}
    while arguments[:1] and arguments[0] in options and len(arguments) > 1:
        options[arguments[0]], arguments = arguments[1], arguments[2:]
    only = options["--only"]
    tables = [pathlib.Path(argument) for argument in arguments] or sorted(HERE.glob("*.txt"))
    mutations = [mutation for table in tables for mutation in read_table(table) if only in mutation.name]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        workspace = pathlib.Path(folder) / "workspace"
        copy_workspace(workspace)
        for mutation in mutations:
            check_fits(mutation, workspace)
        mutations = sample(mutations, int(options["--sample"]))
        target = os.environ.get("MUTATIONS_TARGET_DIR") or pathlib.Path(folder) / "target"
        return run(mutations, workspace, target)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (TableError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
