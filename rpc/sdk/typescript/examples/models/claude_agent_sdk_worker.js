// @ts-check
// A worker around the Claude Agent SDK (npm install @anthropic-ai/claude-agent-sdk). The conversation goes on in the
// next life.
//
// Its types are checked with that package. It was not run: that takes the program of the package and a key.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { Retry, worker } from "vigil";

/** @type {string | undefined} */
let session; // the conversation of this agent; absent: it has not looked yet, "": none
let spent = 0; // what it had cost at its last result, in dollars

await worker("web/agent", async (job) => {
  // When a human cancels the task, or a newer life takes over, the query is stopped.
  const abortController = new AbortController();
  job.signal.addEventListener("abort", () => abortController.abort(), { once: true });
  try {
    if (session === undefined && job.resume) ({ session, spent } = JSON.parse(job.resume));
    const resume = session ? { resume: session } : {};
    const options = { abortController, permissionMode: /** @type {const} */ ("acceptEdits"), ...resume };
    for await (const message of query({ prompt: job.text, options })) {
      if (message.type === "system" && message.subtype === "init") {
        session = message.session_id; // known from the start: a life that dies is gone on with
        await job.remember(JSON.stringify({ session, spent }));
      }
      if (message.type !== "result") {
        await job.progress(message.type);
        continue;
      }
      // The cost is that of the whole conversation, unless it began anew.
      const total = message.total_cost_usd;
      await job.usage({ cost: total < spent ? total : total - spent });
      spent = total;
      await job.remember(JSON.stringify({ session, spent }));
      if (message.subtype !== "success") throw new Error(message.errors.join("\n") || message.subtype);
      if (message.is_error) throw new Error(message.result);
      return message.result;
    }
    throw new Error("the conversation ended without a result");
  } catch (e) {
    if (job.signal.aborted) throw e;
    // The next attempt begins a new conversation: this one may be on another host.
    [session, spent] = ["", 0];
    await job.remember("");
    throw new Retry(String(e), { cause: e });
  }
});
