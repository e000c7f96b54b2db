// A streaming tool loop with OpenAI's official client against a running simulator: node openai.mjs BASE_URL
import assert from "node:assert/strict";
import OpenAI from "openai";

const files = { "src/grüße.txt": "one\ntwo\nthree\n", 'src/"b".txt': "four\nfive\n" };
const tools = [
  {
    type: "function",
    function: {
      name: "read_file",
      description: "Reads a file of the project.",
      parameters: {
        type: "object",
        properties: { path: { type: "string" }, limit: { type: "integer" } },
        required: ["path"],
      },
    },
  },
  {
    type: "function",
    function: {
      name: "add",
      description: "Adds numbers.",
      parameters: {
        type: "object",
        properties: { numbers: { type: "array", items: { type: "number" } } },
        required: ["numbers"],
      },
    },
  },
];
const run = {
  read_file: ({ path }) => files[path],
  add: ({ numbers }) => String(numbers.reduce((sum, number) => sum + number, 0)),
};
const rule = "Answer briefly, name files by their path, and say what you did not check. ";

async function loop(client, model) {
  // Named by the process, so that the other client's prompt is not read.
  const messages = [
    { role: "system", content: `Session mjs ${process.pid}. ${rule.repeat(40)}` },
    { role: "user", content: "How many lines do the two files have?" },
  ];
  const steps = [];
  for (;;) {
    let heard = "";
    const stream = client.chat.completions.stream({
      model,
      messages,
      tools,
      stream_options: { include_usage: true },
    });
    stream.on("content", (part) => (heard += part));
    const completion = await stream.finalChatCompletion();
    const usage = await stream.totalUsage();
    const [choice] = completion.choices;
    steps.push({ choice, usage, heard, id: completion.id });
    const { content, tool_calls } = choice.message;
    messages.push({ role: "assistant", content, ...(tool_calls?.length ? { tool_calls } : {}) });
    if (choice.finish_reason !== "tool_calls") return steps;
    for (const call of tool_calls) {
      const result = run[call.function.name](JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content: result });
    }
    assert.ok(steps.length < 10, "the loop does not end");
  }
}

function checkSteps(steps) {
  const calls = steps.map(({ choice }) => (choice.message.tool_calls ?? []).map((call) => call.function.name).join(" "));
  assert.deepEqual(calls, ["read_file read_file", "add", ""]);
  const reasons = steps.map(({ choice }) => choice.finish_reason);
  assert.deepEqual(reasons, ["tool_calls", "tool_calls", "stop"]);
  for (const { choice, heard, id } of steps) {
    assert.equal(heard, choice.message.content ?? "", "content deltas are the content");
    assert.match(id, /^chatcmpl-/);
  }
  const [first, second, third] = steps;
  const paths = first.choice.message.tool_calls.map((call) => JSON.parse(call.function.arguments).path);
  assert.deepEqual(paths, Object.keys(files));
  assert.equal(third.choice.message.content, "The two files have 5 lines together.");
  const cached = steps.map(({ usage }) => usage.prompt_tokens_details.cached_tokens);
  assert.equal(cached[0], 0, "nothing of the first prompt is there");
  // Blocks are full or not kept, and the answer's reasoning is not sent back.
  assert.ok(cached[1] > first.usage.prompt_tokens - 16, "the second request reads the first prompt");
  assert.ok(cached[2] > second.usage.prompt_tokens - 16, "the third reads the second");
}

async function checkRefusals(client, model, baseURL) {
  const messages = [{ role: "user", content: "x" }];
  const cases = [
    [{ model: "no-such-model", messages }, OpenAI.NotFoundError, "model_not_found"],
    [{ model, messages: [{ role: "tool", tool_call_id: "x", content: "x" }] }, OpenAI.BadRequestError, null],
    [{ model, messages: [{ role: "user", content: "word ".repeat(140_000) }] }, OpenAI.BadRequestError, "context_length_exceeded"],
  ];
  for (const [request, kind, code] of cases) {
    await assert.rejects(client.chat.completions.create(request), (error) => {
      assert.ok(error instanceof kind, `${error} is a ${kind.name}`);
      assert.equal(error.code, code);
      return true;
    });
  }
  const stranger = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: "invalid-key", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), (error) => {
    assert.ok(error instanceof OpenAI.AuthenticationError, `${error} is an AuthenticationError`);
    assert.equal(error.code, "invalid_api_key");
    return true;
  });
}

const [baseURL] = process.argv.slice(2);
if (!baseURL) {
  console.error("usage: node openai.mjs BASE_URL");
  process.exit(2);
}
const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: "test", maxRetries: 0 });
const models = await client.models.list();
const model = models.data[0].id;
const steps = await loop(client, model);
checkSteps(steps);
for (const [index, { usage }] of steps.entries()) {
  const cached = usage.prompt_tokens_details.cached_tokens;
  console.log(`openai (npm) ${model} request ${index + 1}: prompt ${usage.prompt_tokens}, of these read ${cached} tokens`);
}
const whole = await client.chat.completions.create({ model, messages: [{ role: "user", content: "x" }] });
assert.equal(whole.choices[0].finish_reason, "stop", "a request that is not streamed is answered");
await checkRefusals(client, model, baseURL);
