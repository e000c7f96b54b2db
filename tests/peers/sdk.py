"""A streaming tool loop with the official client against a running simulator: python sdk.py BASE_URL"""

import os
import sys

import anthropic

FILES = {"src/grüße.txt": "one\ntwo\nthree\n", 'src/"b".txt': "four\nfive\n"}
TOOLS = [
    {
        "name": "read_file",
        "description": "Reads a file of the project.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        },
    },
    {
        "name": "add",
        "description": "Adds numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
            "required": ["numbers"],
        },
    },
]
RUN = {
    "read_file": lambda path, limit=None: FILES[path],
    "add": lambda numbers: str(sum(numbers)),
}
# Long enough to be cached under any model's minimum.
RULE = "Answer briefly, name files by their path, and say what you did not check. "
SYSTEM = [{"type": "text", "text": RULE * 400, "cache_control": {"type": "ephemeral"}}]
# An older and the newest way to ask for thinking; the newest models also check what stands before it.
MODELS = {
    "claude-haiku-4-5": {"type": "enabled", "budget_tokens": 2000},
    "claude-opus-5-5": {"type": "adaptive"},
}
NEWEST = "claude-opus-5-5"


def check(holds, what):
    if not holds:
        sys.exit(f"sdk.py: does not hold: {what}")


def loop(client, model, thinking):
    messages = [{"role": "user", "content": "How many lines do the two files have?"}]
    steps = []
    while True:
        heard = {"text": "", "thinking": ""}
        with client.messages.stream(
            model=model,
            max_tokens=8000,
            thinking=thinking,
            system=SYSTEM,
            tools=TOOLS,
            messages=messages,
        ) as stream:
            for event in stream:
                if event.type in heard:
                    heard[event.type] += getattr(event, event.type)
            message = stream.get_final_message()
        steps.append((message, heard))
        messages.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            return steps
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": RUN[call.name](**call.input)} for call in calls
        ]
        results[-1]["cache_control"] = {"type": "ephemeral"}
        messages.append({"role": "user", "content": results})
        check(len(steps) < 10, "the loop ends")


def check_steps(steps):
    kinds = [" ".join(block.type for block in message.content) for message, _ in steps]
    check(kinds == ["thinking text tool_use tool_use", "thinking tool_use", "thinking text"], f"blocks {kinds}")
    reasons = [message.stop_reason for message, _ in steps]
    check(reasons == ["tool_use", "tool_use", "end_turn"], f"stop reasons {reasons}")
    for message, heard in steps:
        for kind, said in heard.items():
            whole = "".join(getattr(block, kind) for block in message.content if block.type == kind)
            check(said == whole, f"{kind} deltas are the {kind}")
        signed = [block.signature for block in message.content if block.type == "thinking"]
        check(all(signed), "thinking is signed")
        check(message.id.startswith("msg_"), f"message id {message.id}")
    first, second, third = (message for message, _ in steps)
    paths = [block.input["path"] for block in first.content if block.type == "tool_use"]
    check(paths == list(FILES), f"inputs {paths}")
    check(third.content[-1].text == "The two files have 5 lines together.", "the final text")
    check(first.usage.cache_creation_input_tokens > 0, "the first request writes the cache")
    check(second.usage.cache_read_input_tokens > 0, "the second request reads the cache")
    check(third.usage.cache_read_input_tokens > second.usage.cache_read_input_tokens, "the third reads more")


def check_refusal(client):
    try:
        client.messages.create(model=NEWEST, max_tokens=10, messages=[{"role": "assistant", "content": ""}])
    except anthropic.BadRequestError as error:
        check(error.body["error"]["type"] == "invalid_request_error", f"error body {error.body}")
    else:
        check(False, "an empty conversation is refused with 400")


def check_count(client):
    messages = [{"role": "user", "content": "How many tokens is this?"}]
    count = client.messages.count_tokens(model=NEWEST, messages=messages)
    check(count.input_tokens > 0, "count_tokens counts")


def main():
    if len(sys.argv) != 2:
        print("usage: python sdk.py BASE_URL", file=sys.stderr)
        sys.exit(2)
    # A key of its own, so that the other client's cache is not read.
    client = anthropic.Anthropic(base_url=sys.argv[1], api_key=f"test-{os.getpid()}-py", max_retries=0)
    for model, thinking in MODELS.items():
        steps = loop(client, model, thinking)
        check_steps(steps)
        for number, (message, _) in enumerate(steps, 1):
            usage = message.usage
            print(
                f"anthropic {model} request {number}: read {usage.cache_read_input_tokens}, "
                f"written {usage.cache_creation_input_tokens}, uncached {usage.input_tokens} tokens"
            )
    check_refusal(client)
    check_count(client)


if __name__ == "__main__":
    main()
