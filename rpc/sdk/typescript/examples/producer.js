// @ts-check
// A producer, as in CI: it gives a task out, waits for its end, and fails when the task did.
//
// Outside of the machine of a person it needs VIGIL_ADDR, VIGIL_API_TOKEN (`vigil token create --role operator`) and
// VIGIL_ROOTS, the file with the root of the cluster.
import { Client, TaskFailed } from "vigil";

const client = new Client();
const what = process.argv[2] ?? "HEAD";
const task = await client.tasks.create("web", "builder", what, { title: `Build ${what}` });
try {
  console.log((await client.tasks.wait(task, { timeout: 900 })).result);
} catch (e) {
  if (!(e instanceof TaskFailed)) throw e;
  console.error(e.message);
  process.exitCode = 1;
}
await client.close();
