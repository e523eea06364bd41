// @ts-check
// A worker around OpenAI's Agents SDK (npm install @openai/agents openai zod). The conversation goes on in the next
// life.
//
// The tests run it with a model that they play themselves.
import { Agent, run } from "@openai/agents";
import { APIConnectionError, APIError, InternalServerError, RateLimitError } from "openai";
import { Retry, worker } from "vigil";

const assistant = new Agent({
  name: "Assistant",
  instructions: "You do one task of a fleet and answer with its result.",
});

/** @type {string | undefined} */
let last; // the newest answer in the conversation of this agent; absent: it has not looked yet, "": none

await worker(
  "web/agent",
  async (job) => {
    await job.progress("asks the model", { expect: 300 });
    last ??= job.resume;
    try {
      // The request is broken off when a human cancels the task, or a newer life takes over.
      const options = { signal: job.signal, ...(last && { previousResponseId: last }) };
      const result = await run(assistant, job.text, options);
      const used = result.runContext.usage;
      await job.usage({ input: used.inputTokens, output: used.outputTokens });
      last = result.lastResponseId ?? "";
      await job.remember(last);
      return result.finalOutput;
    } catch (e) {
      if (!(e instanceof APIError) || e.code !== "previous_response_not_found") throw e;
      last = ""; // answers are kept for some weeks: begin a new conversation
      throw new Retry("the model has forgotten the conversation", { after: 1 });
    }
  },
  { retryOn: [APIConnectionError, InternalServerError, RateLimitError] },
);
