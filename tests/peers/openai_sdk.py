"""A streaming tool loop with OpenAI's official client against a running simulator: python openai_sdk.py BASE_URL"""

import json
import os
import sys

import openai

FILES = {"src/grüße.txt": "one\ntwo\nthree\n", 'src/"b".txt': "four\nfive\n"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Reads a file of the project.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["path"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds numbers.",
            "parameters": {
                "type": "object",
                "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
                "required": ["numbers"],
            },
        },
    },
]
RUN = {
    "read_file": lambda path, limit=None: FILES[path],
    "add": lambda numbers: str(sum(numbers)),
}
RULE = "Answer briefly, name files by their path, and say what you did not check. "


def check(holds, what):
    if not holds:
        sys.exit(f"openai_sdk.py: does not hold: {what}")


def loop(client, model):
    # Named by the process, so that the other client's prompt is not read.
    messages = [
        {"role": "system", "content": f"Session py {os.getpid()}. " + RULE * 40},
        {"role": "user", "content": "How many lines do the two files have?"},
    ]
    steps = []
    while True:
        heard = ""
        with client.chat.completions.stream(
            model=model,
            messages=messages,
            tools=TOOLS,
            stream_options={"include_usage": True},
        ) as stream:
            for event in stream:
                if event.type == "content.delta":
                    heard += event.delta
            completion = stream.get_final_completion()
        choice = completion.choices[0]
        steps.append((choice, completion.usage, heard))
        calls = choice.message.tool_calls or []
        message = {"role": "assistant", "content": choice.message.content}
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
                for call in calls
            ]
        messages.append(message)
        if choice.finish_reason != "tool_calls":
            return steps
        for call in calls:
            result = RUN[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        check(len(steps) < 10, "the loop ends")


def check_steps(steps):
    calls = [" ".join(call.function.name for call in choice.message.tool_calls or []) for choice, _, _ in steps]
    check(calls == ["read_file read_file", "add", ""], f"calls {calls}")
    reasons = [choice.finish_reason for choice, _, _ in steps]
    check(reasons == ["tool_calls", "tool_calls", "stop"], f"reasons {reasons}")
    for choice, _, heard in steps:
        check(heard == (choice.message.content or ""), "content deltas are the content")
    (first, first_usage, _), (_, second_usage, _), (third, _, _) = steps
    paths = [json.loads(call.function.arguments)["path"] for call in first.message.tool_calls]
    check(paths == list(FILES), f"arguments {paths}")
    check(third.message.content == "The two files have 5 lines together.", "the final text")
    cached = [usage.prompt_tokens_details.cached_tokens for _, usage, _ in steps]
    check(cached[0] == 0, "nothing of the first prompt is there")
    # Blocks are full or not kept, and the answer's reasoning is not sent back.
    check(cached[1] > first_usage.prompt_tokens - 16, "the second request reads the first prompt")
    check(cached[2] > second_usage.prompt_tokens - 16, "the third reads the second")


def check_refusals(client, model, base_url):
    messages = [{"role": "user", "content": "x"}]
    cases = [
        ({"model": "no-such-model", "messages": messages}, openai.NotFoundError, "model_not_found"),
        ({"model": model, "messages": [{"role": "tool", "tool_call_id": "x", "content": "x"}]}, openai.BadRequestError, None),
        (
            {"model": model, "messages": [{"role": "user", "content": "word " * 140_000}]},
            openai.BadRequestError,
            "context_length_exceeded",
        ),
    ]
    for request, kind, code in cases:
        try:
            client.chat.completions.create(**request)
        except kind as error:
            check(error.code == code, f"{error} has the code {code}")
        else:
            check(False, f"{kind.__name__} for {code}")
    stranger = openai.OpenAI(base_url=f"{base_url}/v1", api_key="invalid-key", max_retries=0)
    try:
        stranger.models.list()
    except openai.AuthenticationError as error:
        check(error.code == "invalid_api_key", f"{error}")
    else:
        check(False, "a wrong key is refused with 401")


def main():
    if len(sys.argv) != 2:
        print("usage: python openai_sdk.py BASE_URL", file=sys.stderr)
        sys.exit(2)
    client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="test", max_retries=0)
    model = client.models.list().data[0].id
    steps = loop(client, model)
    check_steps(steps)
    for number, (_, usage, _) in enumerate(steps, 1):
        cached = usage.prompt_tokens_details.cached_tokens
        print(f"openai (PyPI) {model} request {number}: prompt {usage.prompt_tokens}, of these read {cached} tokens")
    whole = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "x"}])
    check(whole.choices[0].finish_reason == "stop", "a request that is not streamed is answered")
    check_refusals(client, model, sys.argv[1])


if __name__ == "__main__":
    main()
