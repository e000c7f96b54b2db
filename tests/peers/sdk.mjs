// A streaming tool loop with the official client against a running simulator: node sdk.mjs BASE_URL
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";

const files = { "src/grüße.txt": "one\ntwo\nthree\n", 'src/"b".txt': "four\nfive\n" };
const tools = [
  {
    name: "read_file",
    description: "Reads a file of the project.",
    input_schema: {
      type: "object",
      properties: { path: { type: "string" }, limit: { type: "integer" } },
      required: ["path"],
    },
  },
  {
    name: "add",
    description: "Adds numbers.",
    input_schema: {
      type: "object",
      properties: { numbers: { type: "array", items: { type: "number" } } },
      required: ["numbers"],
    },
  },
];
const run = {
  read_file: ({ path }) => files[path],
  add: ({ numbers }) => String(numbers.reduce((sum, number) => sum + number, 0)),
};
// Long enough to be cached under any model's minimum.
const rule = "Answer briefly, name files by their path, and say what you did not check. ";
const system = [{ type: "text", text: rule.repeat(400), cache_control: { type: "ephemeral" } }];

// An older and the newest way to ask for thinking; the newest models also check what stands before it.
const models = [
  { model: "claude-haiku-4-5", thinking: { type: "enabled", budget_tokens: 2000 } },
  { model: "claude-opus-5-5", thinking: { type: "adaptive" } },
];

async function loop(client, model) {
  const messages = [{ role: "user", content: "How many lines do the two files have?" }];
  const steps = [];
  for (;;) {
    const heard = { text: "", thinking: "", input: "" };
    const stream = client.messages.stream({
      ...model,
      max_tokens: 8000,
      system,
      tools,
      messages,
    });
    stream.on("text", (part) => (heard.text += part));
    stream.on("thinking", (part) => (heard.thinking += part));
    stream.on("inputJson", (part) => (heard.input += part));
    const message = await stream.finalMessage();
    steps.push({ message, heard });
    messages.push({ role: "assistant", content: message.content });
    if (message.stop_reason !== "tool_use") return steps;
    const calls = message.content.filter((block) => block.type === "tool_use");
    const results = calls.map(({ id, name, input }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: run[name](input),
    }));
    results.at(-1).cache_control = { type: "ephemeral" };
    messages.push({ role: "user", content: results });
    assert.ok(steps.length < 10, "the loop does not end");
  }
}

function checkSteps(steps) {
  const kinds = steps.map(({ message }) => message.content.map((block) => block.type).join(" "));
  assert.deepEqual(kinds, ["thinking text tool_use tool_use", "thinking tool_use", "thinking text"]);
  const reasons = steps.map(({ message }) => message.stop_reason);
  assert.deepEqual(reasons, ["tool_use", "tool_use", "end_turn"]);
  for (const { message, heard } of steps) {
    const part = (type, key) =>
      message.content.filter((block) => block.type === type).map((block) => block[key]).join("");
    assert.equal(heard.text, part("text", "text"), "text deltas are the text");
    assert.equal(heard.thinking, part("thinking", "thinking"), "thinking deltas are the thinking");
    assert.ok(part("thinking", "signature").length > 0, "thinking is signed");
    assert.match(message.id, /^msg_/);
  }
  const [first, second, third] = steps.map(({ message }) => message);
  const paths = first.content.filter((block) => block.type === "tool_use").map((block) => block.input.path);
  assert.deepEqual(paths, Object.keys(files));
  assert.equal(third.content.at(-1).text, "The two files have 5 lines together.");
  assert.ok(first.usage.cache_creation_input_tokens > 0, "the first request writes the cache");
  assert.ok(second.usage.cache_read_input_tokens > 0, "the second request reads the cache");
  assert.ok(third.usage.cache_read_input_tokens > second.usage.cache_read_input_tokens, "the third reads more");
}

async function checkRefusal(client) {
  const request = { model: models[1].model, max_tokens: 10, messages: [{ role: "assistant", content: "" }] };
  await assert.rejects(client.messages.create(request), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError, `a 400 is a BadRequestError, not ${error}`);
    assert.equal(error.error.error.type, "invalid_request_error");
    return true;
  });
}

async function checkCount(client) {
  const messages = [{ role: "user", content: "How many tokens is this?" }];
  const count = await client.messages.countTokens({ model: models[1].model, messages });
  assert.ok(count.input_tokens > 0, "count_tokens counts");
}

const [baseURL] = process.argv.slice(2);
if (!baseURL) {
  console.error("usage: node sdk.mjs BASE_URL");
  process.exit(2);
}
// A key of its own, so that the other client's cache is not read.
const client = new Anthropic({ baseURL, apiKey: `test-${process.pid}-mjs`, maxRetries: 0 });
for (const model of models) {
  const steps = await loop(client, model);
  checkSteps(steps);
  for (const [index, { message }] of steps.entries()) {
    const { cache_read_input_tokens: read, cache_creation_input_tokens: written, input_tokens } = message.usage;
    const figures = `read ${read}, written ${written}, uncached ${input_tokens} tokens`;
    console.log(`@anthropic-ai/sdk ${model.model} request ${index + 1}: ${figures}`);
  }
}
await checkRefusal(client);
await checkCount(client);
