#!/usr/bin/env python3
"""Random conversations with `antefix sim` as a server of Chat Completions: does the oracle count the same, to the token?

    random_chat.py ANTEFIX [ROUNDS]

For each profile and template class a simulator is started on a virtual clock; conversations in it grow, branch, are edited and
pause. Prints each request with a finding, then `N passed, N failed`. Exit status: 0 all fine, 1 a finding.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from chat_model import CLASSES, bill

Message = dict[str, Any]
SCRIPT = Path(__file__).with_name("chat.script")
WORDS = ("think", "spaced", "and", "fix", "the", "parser", "grüße", "x=1;", "\n\n  indented", "\t", "a\"b\\c", "0123456789", "…")
SCHEMA = {"type": "object", "b": 1.0, "a": []}
TOOL = {"type": "function", "function": {"name": "read", "description": 'Reads "a" file.', "parameters": SCHEMA}}
# Profile, its options, and what the oracle has to know of them.
SERVERS = (
    ("vllm", ["--capacity", "1000"], {"capacity": 1_000}),
    ("vllm", ["--capacity", "40", "--context", "640"], {"capacity": 40}),
    ("llamacpp", ["--slots", "1"], {"slots": 1}),
    ("llamacpp", ["--slots", "3"], {"slots": 3}),
    ("openai-legacy", [], {}),
)


class Driver:
    """Several conversations with one server."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.random = url, random.Random(seed)
        self.open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        self.talks: list[list[Message]] = []
        self.tools = [[], [TOOL], [TOOL, {**TOOL, "function": {"name": "edit"}}]]

    def step(self) -> None:
        """Lets one conversation go on, after an edit, a rewind or nothing."""
        if not self.talks or (len(self.talks) < 3 and self.random.random() < 0.3):
            long = self.words(400) if self.random.random() < 0.5 else "You are."
            self.talks.append([{"role": "system", "content": long}] if self.random.random() < 0.7 else [])
        at = self.random.randrange(len(self.talks))
        talk = self.talks[at]
        spoken = [number for number, message in enumerate(talk) if message["role"] == "user"]
        change = self.random.random()
        if spoken and change < 0.1:
            talk[self.random.choice(spoken)]["content"] = self.words(8)
        elif spoken and change < 0.2:
            del talk[spoken[-1] :]
        talk.append({"role": "user", "content": self.words(30)})
        for _ in range(4):
            answer = self.ask(talk, self.tools[at])
            if answer is None:
                del talk[1:]
                return
            talk.append(answer)
            if not answer.get("tool_calls"):
                return
            talk += [{"role": "tool", "tool_call_id": call["id"], "content": self.words(20)} for call in answer["tool_calls"]]

    def words(self, most: int) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(1, most)))

    def ask(self, talk: list[Message], tools: list[Any]) -> Message | None:
        """The answer's message; none if the prompt has become too long."""
        body = {"model": "sim-model", "messages": talk, **({"tools": tools} if tools else {})}
        pause = self.random.choice((0, 0, 0, 1_000, 300_000, 599_999, 600_000, 40_000_000))
        headers = {"authorization": "Bearer key", "x-sim-advance-ms": str(pause)}
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", json.dumps(body).encode(), headers)
        try:
            with self.open(request) as response:
                return json.load(response)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            found = json.load(error)["error"]
            if found["code"] != "context_length_exceeded":
                raise RuntimeError(found) from error
            return None


def judge(antefix: str, server: tuple[str, list[str], dict[str, int]], template: str, rounds: int, seed: int) -> tuple[int, int]:
    """Drives one simulator; how many requests passed and failed."""
    profile, options, known = server
    with tempfile.TemporaryDirectory() as folder:
        command = [antefix, "sim", "--clock", "virtual", "--script", str(SCRIPT), "--profile", profile, *options]
        command += ["--template-class", template, "--capture", folder, "--cached-tokens", "on"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            try:
                driver = Driver(process.stdout.readline().strip(), seed)
                for _ in range(rounds):
                    driver.step()
            finally:
                process.terminate()
        bills = bill(Path(folder), profile, template, known.get("capacity", 8_192), known.get("slots", 4), exact=True)
    failed = [one for one in bills if one.findings]
    for one in failed[:5]:
        print(f"{' '.join(command[4:-4])}, seed {seed}, #{one.n}: {'; '.join(one.findings)}")
    return len(bills) - len(failed), len(failed)


def main(antefix: str, rounds: int) -> int:
    passed = failed = 0
    for seed, (server, template) in enumerate((server, template) for server in SERVERS for template in CLASSES):
        fine, bad = judge(antefix, server, template, rounds, seed)
        passed, failed = passed + fine, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int((sys.argv[2:] or ["40"])[0])))
