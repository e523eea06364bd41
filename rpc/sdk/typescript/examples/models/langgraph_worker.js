// @ts-check
// A worker around a graph of LangGraph (npm install @langchain/langgraph @langchain/core zod) that stops to ask a
// human.
//
// An interrupt() of the graph becomes a question in the inbox of vigil, and what a human sends resumes the graph:
// `vigil mail send web/agent yes`. The tests run it.
import { Command, END, INTERRUPT, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { interrupt, isInterrupted } from "@langchain/langgraph";
import { worker } from "vigil";
import { z } from "zod";

const State = z.object({ text: z.string(), answer: z.string().default("") });
const checkpointer = new MemorySaver();
const graph = new StateGraph(State)
  .addNode("review", (state) => ({ answer: String(interrupt(`Is this right? ${state.text}`)) }))
  .addEdge(START, "review")
  .addEdge("review", END)
  .compile({ checkpointer });

await worker("web/agent", async (job) => {
  const thread = `${job.id}-${job.attempt}`;
  // The graph stops when a human cancels the task, or a newer life takes over.
  const config = { configurable: { thread_id: thread }, signal: job.signal };
  try {
    await job.progress("runs the graph");
    let state = await graph.invoke({ text: job.text }, config);
    while (isInterrupted(state)) {
      const answer = await job.ask(String(state[INTERRUPT][0]?.value));
      state = await graph.invoke(new Command({ resume: answer.body || answer.subject }), config);
    }
    return state.answer;
  } finally {
    await checkpointer.deleteThread(thread);
  }
});
