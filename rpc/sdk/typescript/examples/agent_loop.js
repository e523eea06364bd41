// @ts-check
// An agent around a command: each task is a prompt for it. The conversation goes on in the next life.
//
// The command is what AGENT_COMMAND says, for instance "claude -p"; here, where there is none, it is cat.
import { worker } from "vigil";

const [command = "cat", ...args] = (process.env.AGENT_COMMAND ?? "cat").split(" ");

await worker("web/agent", async (job) => {
  await job.progress(`asks ${command}`, { expect: 600 });
  if (job.resume) await job.progress(`goes on with ${job.resume}`);
  // It is ended when a human cancels the task, or a newer life takes over: no model works for nobody.
  const { stdout } = await job.run(command, args, { input: job.text, timeout: 3600 });
  await job.remember(`task-${job.id}`);
  return stdout;
});
