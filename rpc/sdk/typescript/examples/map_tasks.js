// @ts-check
// A map over many tasks: their workers may be in any language, on any host.
import { Client } from "vigil";

const client = new Client();
const numbers = Array.from({ length: Number(process.argv[2] ?? 1000) }, (_, n) => ({ n }));
let total = 0;
for await (const task of client.tasks.map("web", "square", numbers, { timeout: 600 })) {
  total += JSON.parse(task.result ?? "").square;
}
console.log(total);
await client.close();
