// The worker of the conformance table: doc.go of rpc/sdk/conformance says what it has to do.
import { Client, Handoff, Retry, VigilError, worker } from "../dist/index.js";

const say = (line) => console.log(JSON.stringify(line));

async function work(job) {
  const task = Number(job.id);
  say({ did: "handle", task });
  switch (job.text) {
    case "progress":
      await job.progress("half of it");
      break;
    case "long":
      await job.sleep(1.5);
      await job.progress("half of it");
      break;
    case "hold":
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      say({ did: "told", task, cause: job.signal.reason.code });
      break;
    case "stop":
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      throw new Retry("the tool was interrupted");
    case "retry":
      throw new Retry("it is not there yet", { after: 3 });
    case "fail":
      throw new RangeError("no such file");
    case "handoff":
      return new Handoff("tester", "look at it", { result: "built" });
  }
  return "done";
}

try {
  const retryFor = Number(process.env.VIGIL_CONFORMANCE_RETRY ?? 300);
  await worker("web/builder", work, { client: new Client({ attempt: 0.5, retryFor }) });
  say({ did: "end", code: "" });
} catch (e) {
  if (!(e instanceof VigilError)) throw e;
  say({ did: "end", code: e.code, text: e.message });
}
