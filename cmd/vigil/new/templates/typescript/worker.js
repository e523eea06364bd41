// @ts-check
import { worker } from "vigil";

await worker("{{.Name}}/worker", async (job) => {
  await job.progress("started");
  return { ok: true, text: job.text };
});
