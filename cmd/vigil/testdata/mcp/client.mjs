// An agent that speaks MCP: it starts `vigil mcp` as AI tools do, works at one task, and
// writes to a colleague. What it saw is printed as one line of JSON. Wrong answers end it
// with an error and exit code 1.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { VIGIL_PROGRAM: command, VIGIL_ADDR, XDG_RUNTIME_DIR, AGENT, COLLEAGUE } = process.env;
const patience = { timeout: 90_000, resetTimeoutOnProgress: true };

const transport = new StdioClientTransport({
  command,
  args: ["mcp", "--agent", AGENT, "--timeout", "60s"],
  env: { VIGIL_ADDR, XDG_RUNTIME_DIR },
  stderr: "inherit",
});
const client = new Client({ name: "vigil-mcp-test", version: "1.0.0" });
await client.connect(transport);

async function call(name, args = {}, watch) {
  const answer = await client.callTool({ name, arguments: args }, undefined, { ...patience, onprogress: watch });
  const text = answer.content.map((part) => part.text).join("\n");
  assert.ok(!answer.isError, `${name}: ${text}`);
  assert.ok(text.length > 0 && answer.structuredContent.message.length > 0, `${name} says nothing`);
  return answer.structuredContent;
}

const { tools } = await client.listTools();
let got = await call("wait_for_task", { seconds: 30 }, () => {});
for (let tries = 0; !got.task && tries < 3; tries++) {
  got = await call("wait_for_task", { seconds: 30 }, () => {});
}
await call("start_task");
await call("progress", { note: "half of it" });
const sent = await call("send_mail", { to: COLLEAGUE, subject: "done soon", body: "see the task" });
const me = await call("my_status");
const wrong = await client.callTool({ name: "complete_task", arguments: { outcome: "misspelt" } }, undefined, patience);
assert.ok(wrong.isError, "an argument that does not exist was taken");
await call("complete_task", { result: `heard: ${got.task.from_others.text}` });
await client.close();

console.log(JSON.stringify({ server: client.getServerVersion().name, tools: tools.map((tool) => tool.name), task: got.task.id, mails: sent.mails, life: me.life }));
