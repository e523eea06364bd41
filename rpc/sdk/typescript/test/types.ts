// What users write has these types, and what they must not write is a mistake.
import { Client, Conflict, VigilError, worker, type Job, type Task, type messages } from "vigil";

const client = new Client({ addrs: ["127.0.0.1:7420"], name: "types" });
const task: Task = await client.tasks.create("web", "builder", { any: "value" }, { expect: 60 });
const state: messages.TaskState = task.state;
const agent = await client.call("Fleet.GetAgent", { agent: "web/builder" });
const done: number | undefined = agent.agent?.done;
for await (const event of client.events("web", { after: 7n }))
  console.log(event.seq, event.kind, state, done);

// @ts-expect-error: a span of the wire has its unit
await client.call("Work.Wait", { speaker: { agent: "web/builder" }, max_wait: "60" });
// @ts-expect-error: there is no such call
await client.call("Fleet.GetTasks", {});
// @ts-expect-error: a task is named
await client.call("Fleet.GetTask", {});

try {
  await worker("web/builder", async (job: Job) => job.json<{ n: number }>().n, {
    retryOn: [RangeError, VigilError],
  });
} catch (e) {
  if (e instanceof Conflict) console.log(e.rev, e.remedy, e.final);
}
