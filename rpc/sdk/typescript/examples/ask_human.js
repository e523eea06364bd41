// @ts-check
// An agent that asks a human before it goes on: `vigil mail send web/release yes` is the answer.
import { Handoff, worker } from "vigil";

await worker("web/release", async (job) => {
  const answer = await job.ask(`May I release ${job.text}?`, { within: 24 * 3600 });
  const word = (answer.body || answer.subject || "").trim().toLowerCase();
  if (word !== "yes" && word !== "y") throw new Error(`a human said: ${word}`);
  return new Handoff("builder", { release: job.text }, { result: "released" });
});
