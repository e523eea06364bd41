// A worker of workload sdk in JavaScript: the package vigil does the work, and a ledger says what it was told.
//
// It tells its driver on standard output, a JSON object a line, which agent it is and which tasks it has created, and
// creates none any more when its standard input ends. doc.go of package workload says what is promised.
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Client, Retry, VigilError, worker } from "vigil";

const { SDK_ROLE: role, SDK_LEDGER: ledger, SDK_NAME: name } = process.env;
const [ttl, every] = [Number(process.env.SDK_TTL), Number(process.env.SDK_EVERY)]; // s
const shift = BigInt(process.env.SDK_CLOCK); // ns from the clock of Node.js to that of ledgers

const clock = () => process.hrtime.bigint() + shift;
const tell = (line) => console.log(JSON.stringify(line));
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

// The account of a life, as package ledger reads it.
let file, life;
const line = (text) => file !== undefined && writeSync(file, text + "\n");

function begin(agent, incarnation) {
  if (life === agent + " " + incarnation) return;
  life = agent + " " + incarnation;
  const path = `${agent.replace("/", "%")}-${incarnation}-client-${process.pid}-${name}.life`;
  file = openSync(join(ledger, path), "a", 0o644);
  writeSync(file, `life ${agent} ${incarnation} client ${process.pid}\nstart ${clock()}\n`);
  tell({ did: "join", agent });
}

const words = { "Work.CompleteTask": "complete", "Work.FailTask": "fail", "Work.ProgressTask": "progress" };

// Notes what the cluster has acknowledged.
function heard(method, message, answer, sent) {
  const said = (what, task, attempt) => line(`said ${sent} ${clock()} ${what} ${task} ${attempt}`);
  if (method === "Work.Join") begin(answer.agent, answer.incarnation);
  else if (method === "Work.Wait") said("claim", answer.task.id, answer.attempt);
  else if (method === "Work.Next") {
    said("fail" in message ? "fail" : "complete", message.task, message.attempt);
    if (answer.claim) said("claim", answer.claim.task.id, answer.claim.attempt);
  } else if (method in words) said(words[method], message.task, message.attempt);
}

class Recorded extends Client {
  async call(method, message, options) {
    const sent = clock();
    const answer = await super.call(method, message, options);
    heard(method, message, answer, sent);
    return answer;
  }
}

async function work(job) {
  await job.progress("half of it");
  const id = Number(job.id);
  if (id % 5 === 0) await job.run("true");
  if (id % 23 === 0) await job.sleep(1.5 * ttl);
  if (id % 7 === 0 && job.attempt === 1) throw new Retry("the first attempt", { after: 1 });
  await job.sleep(Math.random() / 10);
  return "done by " + job.agent;
}

async function create(resting) {
  const [room, to] = role.split("/");
  const client = new Client({ name: "producer " + name });
  for (let n = 1; ; n++) {
    await sleep(every * (0.5 + Math.random()));
    if (resting()) return;
    const made = { did: "create", value: `${name}.${n}`, outcome: "ok" };
    const call = clock();
    try {
      made.task = Number((await client.tasks.create(room, to, "", { title: made.value })).id);
    } catch (e) {
      if (!(e instanceof VigilError)) throw e;
      Object.assign(made, { outcome: e.final ? "failed" : "unknown", error: e.code });
    }
    // Nanoseconds are more than a number of JavaScript holds.
    console.log(JSON.stringify(made).replace(/}$/, `,"call":${call},"return":${clock()}}`));
  }
}

let over = false;
process.stdin.on("end", () => (over = true)).resume();
process.stdin.unref?.();
setInterval(() => line(`t ${clock()}`), 50).unref();
create(() => over).catch((e) => { console.error(e); process.exit(1); });
await worker(role, work, { client: new Recorded({ name: "worker " + name }) });
line(`exit ${clock()}`);
process.exit(0);
