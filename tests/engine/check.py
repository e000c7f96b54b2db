"""Judges a run against a real engine: what the engine itself says it kept of each prompt, and how long it took.

usage: check.py FOLDER    FOLDER as run.sh leaves it; prints a table, writes FOLDER/summary.json; exit 1 if a line fails

The engine prints for each request how many leading prompt tokens equal those it holds ("N prefix-match hit, remaining
M prompt tokens to eval") and nothing where none do. Nobody here computes these numbers.
"""

import json
import pathlib
import re
import sys

HIT = re.compile(r"(\d+) prefix-match hit, remaining (\d+) prompt tokens to eval")
EVALUATED = re.compile(r"prompt eval time =\s*([\d.]+) ms /\s*(\d+) tokens")
SERVED = re.compile(r'"POST /v1/chat/completions HTTP/1\.1" 200')

# What of the previous prompt may be missing from the new one. The previous prompt ends with the words that ask the
# model to speak ("<|im_start|>assistant\n", 3 tokens); they stand in the new prompt too, in front of the reply. But the
# reply was cut into tokens as a continuation there and as part of a text here, and an engine that merges the line
# break with what follows may differ in the last of the three. So: one token.
TAIL = 1


def engine_counts(log):
    """Per request: tokens matched, tokens evaluated, milliseconds of evaluation, as the engine printed them."""
    counts = []
    for line in log.splitlines():
        if SERVED.search(line):
            counts.append({"matched": 0, "evaluated": None, "evaluation_ms": None})
        elif not counts:
            continue
        elif hit := HIT.search(line):
            counts[-1].update(matched=int(hit[1]), evaluated=int(hit[2]))
        elif time := EVALUATED.search(line):
            counts[-1].update(evaluation_ms=float(time[1]))
            if counts[-1]["evaluated"] is None:
                counts[-1]["evaluated"] = int(time[2])
    for count in counts:
        count["prompt"] = count["matched"] + (count["evaluated"] or 0)
    return counts


def captured(folder):
    """Per request, in the order sent: the body and the seconds until the first byte of the answer."""
    requests = []
    for meta_path in sorted(folder.glob("*.meta.json")):
        meta = json.loads(meta_path.read_bytes())
        body = meta_path.with_name(meta_path.name.replace(".meta.", ".body.")).read_bytes()
        wait = (meta["first_byte_at_ms"] - meta["at_ms"]) / 1000
        requests.append({"body": body, "first_byte_s": wait, "status": meta["status"]})
    return requests


def messages(body):
    return json.loads(body)["messages"]


def judge(requests, counts, broken):
    """Rows with the verdict of each request; `broken` is the last one, whose first message was changed."""
    rows = []
    cold = requests[0]["first_byte_s"]
    for number, (request, count) in enumerate(zip(requests, counts)):
        row = {"request": number + 1, **count, "first_byte_s": round(request["first_byte_s"], 3)}
        if number == 0:
            row["ok"] = count["prompt"] > 0
        else:
            before = counts[number - 1]["prompt"]
            share = (count["prompt"] - before) / count["prompt"]
            row["at_least"] = before - TAIL
            row["limit_s"] = round(1.5 * share * cold + 0.2, 3)
            kept = count["matched"] >= row["at_least"]
            if request is broken:
                # The opposite must show: next to nothing kept, and about as slow as without a cache.
                row["ok"] = count["matched"] < 0.1 * before and request["first_byte_s"] > row["limit_s"]
                row["broken"] = True
            else:
                row["ok"] = kept and request["first_byte_s"] <= row["limit_s"]
        rows.append(row)
    return rows


def has_results(requests):
    """The last request of the session holds at least four tool results that are no errors."""
    results = [message for message in messages(requests[-2]["body"]) if message["role"] == "tool"]
    return len(results) >= 4 and all("not run" not in str(result["content"]) for result in results)


def main():
    folder = pathlib.Path(sys.argv[1])
    counts = engine_counts((folder / "engine.log").read_text(errors="replace"))
    requests = captured(folder / "bodies")
    if len(requests) < 7 or len(requests) != len(counts):
        sys.exit(f"{len(requests)} requests captured, {len(counts)} served by the engine; at least 7 of each are needed")
    rows = judge(requests, counts, requests[-1])
    print(f"{'request':>7} {'prompt':>7} {'matched':>8} {'at least':>8} {'first byte':>11} {'at most':>8}")
    for row in rows:
        least, limit = row.get("at_least", "-"), row.get("limit_s", "-")
        mark = "ok" if row["ok"] else "FAILED"
        note = " (prefix broken on purpose)" if row.get("broken") else ""
        print(f"{row['request']:>7} {row['prompt']:>7} {row['matched']:>8} {least:>8} "
              f"{row['first_byte_s']:>9} s {limit:>6} s  {mark}{note}")
    facts = {"rows": rows, "tail_tokens": TAIL, "tool_results": has_results(requests)}
    (folder / "summary.json").write_text(json.dumps(facts, indent=1) + "\n")
    if not facts["tool_results"]:
        sys.exit("the history does not hold the tool results that were asked for")
    if not all(row["ok"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
