"""Times the file tools against ripgrep in the same tree and the same run; see search.sh."""

import json
import os
import subprocess
import sys
import tempfile
import time

FILES = 50_000
ROUNDS = 15
MOST_RATIO = 1.3
MOST_EDIT_MS = 50.0


def make_tree(root):
    """50,000 files of about 2 KB in 1,000 folders, with an ignore file and a few matches."""
    line = "fn some_function(argument: u32) -> u32 { argument + 1 }\n"
    for folder in range(1000):
        path = os.path.join(root, f"part{folder % 20}", f"folder{folder}")
        os.makedirs(path)
        for number in range(FILES // 1000):
            extra = "the needle is here\n" if (folder * 50 + number) % 500 == 0 else ""
            with open(os.path.join(path, f"file{number}.{'rs' if number % 2 else 'md'}"), "w") as file:
                file.write(line * (10 + number) + extra)
    with open(os.path.join(root, ".ignore"), "w") as file:
        file.write("*.log\n/part7/folder7/\n")


def seconds(command):
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    taken = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{command[:2]} failed: {done.stderr.decode()}")
    return taken


def best_of_both(ours, theirs):
    """The least time of each, taken in turns so that a busy machine is busy for both."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    return min(one for one, _ in pairs), min(other for _, other in pairs)


def main(program):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        os.mkdir(tree)
        make_tree(tree)
        run = lambda tool, *inputs: [program, tool, tree, "\n".join(json.dumps(one) for one in inputs)]
        cases = [
            ("grep, few matches", run("grep", {"pattern": "needle"}), ["rg", "-n", "needle", tree]),
            ("grep, no match, folded", run("grep", {"pattern": "NoSuchWord", "ignore_case": True}),
             ["sh", "-c", 'rg -n -i NoSuchWord "$0" || true', tree]),
            ("grep, a count in every file", run("grep", {"pattern": "some_function", "mode": "count"}),
             ["rg", "-c", "some_function", tree]),
            ("glob, half of the files", run("glob", {"pattern": "*.rs"}), ["rg", "--files", "-g", "*.rs", tree]),
        ]
        for name, ours, theirs in cases:
            own, other = best_of_both(ours, theirs)
            ratio = own / other
            failed |= ratio > MOST_RATIO
            word = "ok    " if ratio <= MOST_RATIO else "FAILED"
            print(f"{word} {name:30} {own * 1000:7.1f} ms of ours, {other * 1000:7.1f} ms of ripgrep: "
                  f"{ratio:.2f} times, at most {MOST_RATIO}")
        big = os.path.join(tree, "big.txt")
        reads, edits = [], []
        for _ in range(ROUNDS):
            with open(big, "w") as file:
                file.write("".join(f"line {line:09} of a long file\n" for line in range(5_000_000 // 30)))
            read = {"path": "big.txt", "limit": 1}
            edit = {"path": "big.txt", "old_string": "line 000090000 ", "new_string": "line ninety thousand "}
            reads.append(seconds(run("edit", read)))
            edits.append(seconds(run("edit", read, edit)))
        taken = (min(edits) - min(reads)) * 1000
        failed |= taken > MOST_EDIT_MS
        print(f"{'ok    ' if taken <= MOST_EDIT_MS else 'FAILED'} {'edit of a 5 MB file':30} {taken:7.1f} ms, "
              f"at most {MOST_EDIT_MS:.0f}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1])
