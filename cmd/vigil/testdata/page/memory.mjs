// An hour's worth of events, replayed as fast as the page takes it: memory.mjs LINK. The page's memory stays below
// 300 MB, and does not grow with what has happened.
import { open } from "./browser.mjs";

const [link] = process.argv.slice(2);
const seconds = 3600,
  each = 100, // events a second, as of a fleet of 10,000 agents
  most = 300e6;
const { page, fault, end } = await open(link, { width: 1280, height: 860 });
await page.addInitScript(() => {
  const real = globalThis.fetch;
  let controller, last;
  // The stream of the page goes on as it is; what is replayed comes between.
  globalThis.fetch = async (url, init) => {
    const answer = await real(url, init);
    if (!String(url).includes("v1/follow") || !answer.ok) return answer;
    const from = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const to = new TextEncoder();
    return new Response(
      new ReadableStream({
        async start(c) {
          controller = c;
          for (let rest = ""; ; ) {
            const { done, value } = await from.read();
            if (done) return c.close();
            const parts = (rest + value).split("\n");
            rest = parts.pop();
            for (const part of parts) {
              if (part) last = { ...last, ...JSON.parse(part).result };
              c.enqueue(to.encode(part + "\n"));
            }
          }
        },
      }),
      { headers: answer.headers },
    );
  };
  globalThis.replay = async (from, seconds, each) => {
    const kinds = ["task.created", "task.claimed", "task.started", "task.completed", "agent.joined", "agent.suspect",
      "escalation.opened", "mail.sent"];
    const to = new TextEncoder();
    for (let s = from; s < from + seconds; s++) {
      const events = [];
      for (let i = 0; i < each; i++) {
        const n = s * each + i;
        events.push({ seq: String(1e9 + n), index: String(1e9 + n), kind: kinds[n % kinds.length], room: `room${n % 97}`,
          agent: `room${n % 97}/worker.${n % 10_000}`, task: String(n % 100_000), host: `host${n % 500}`,
          text: `what has happened for the ${n}th time, in as many words as usual`, at: new Date(s * 1000).toISOString() });
      }
      const { overview, ...news } = last;
      const n = { ...news, events, seq: String(1e9 + s), overview: s % 5 ? undefined : structuredClone(overview) };
      for (let sent = false; !sent; ) {
        try {
          controller.enqueue(to.encode(JSON.stringify({ result: n }) + "\n"));
          sent = true;
        } catch {
          await new Promise((r) => setTimeout(r, 100)); // the page has given this stream up and opens the next one
        }
      }
      if (s % 2 === 0) await new Promise((r) => requestAnimationFrame(r));
    }
  };
});
await page.goto(link);
await page.locator("#state.good").waitFor();
await page.locator("#agents").getByText("idle").first().waitFor();
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable");
const heap = async () => {
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devtools.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map((m) => [m.name, m.value]));
};
const text = (n) => `${(n / 1e6).toFixed(1)} MB`;

const begin = await heap();
console.log(`at the beginning: ${text(begin.JSHeapUsedSize)}, ${begin.Nodes} nodes`);
const views = ["/fleet", "/inbox", "/agents", "/events", "/room/demo", "/timeline"];
let first;
for (const [i, view] of views.entries()) {
  await page.evaluate((v) => (location.hash = v), view);
  await page.waitForTimeout(500);
  await page.evaluate(([from, n, e]) => globalThis.replay(from, n, e), [
    (i * seconds) / views.length,
    seconds / views.length,
    each,
  ]);
  await page.waitForTimeout(1000);
  const now = await heap();
  first ??= now;
  console.log(`${view} after ${((i + 1) * seconds * each) / views.length} events: ${text(now.JSHeapUsedSize)}, ${now.Nodes} nodes`);
  if (now.JSHeapUsedSize > most) fault(`${view} holds ${text(now.JSHeapUsedSize)}`);
}
await page.evaluate(() => (location.hash = "/fleet"));
await page.waitForTimeout(2000);
const last = await heap();
console.log(`on the first view again: ${text(last.JSHeapUsedSize)}, ${last.Nodes} nodes`);
if (last.JSHeapUsedSize > first.JSHeapUsedSize + 30e6)
  fault(`the same view holds ${text(last.JSHeapUsedSize)}, and held ${text(first.JSHeapUsedSize)}`);
if ((await page.evaluate(() => document.title)) === "") fault("the page has no title any more");
await end();
