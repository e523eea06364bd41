// Drives what streams into the page against what servers would send: follow.mjs ASSETS. A stream that answers late is
// waited for, events that were left out are read, a restored cluster begins another history, output goes on behind the
// end of its stream, and days are those of the reader. The clock of the page stands and is put forward.
import { open, serve } from "./browser.mjs";

const [assets] = process.argv.slice(2);
const zone = "America/New_York"; // five hours behind UTC in winter, four in summer

/** follows and prints are the streams that were asked for, each of which has its answers as long as it is open. */
const follows = [],
  prints = [];
/** history are the numbers of the events that servers know, of an age that word names. */
let history = { last: 300, word: "old" };
const event = (seq, word = history.word) => ({
  ...{ seq: String(seq), kind: "task.created", room: "web", attempt: 0, text: `${word} ${seq}` },
  at: "2025-07-02T00:00:00Z",
});
const range = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
const lane = {
  ...{ kind: "agent", name: "web/a", marks: [] },
  spans: [{ kind: "life", name: "1", seq: "7", begin: 0, end: 45 * 60_000, joined: 0, bad: false, open: false }],
};
/** answers are what the API says at once, by path. */
const answers = {
  "/v1/events:back": (q) => {
    const behind = Number(q.get("before")) || history.last + 1,
      first = Math.max(1, behind - 100);
    const events = range(first, behind - 1).toReversed();
    return { events: events.map((n) => event(n)), ...(first > 1 && { next: String(first) }) };
  },
  "/v1/timeline": () => ({ lanes: [lane], marks: [], more: 0, cut: false }),
  "/v1/agents/web/a": () => ({
    agent: { name: "web/a", host: "h1", verdict: { kind: "healthy", reasons: [] }, why: "x", up: "5s" },
    ...{ events: [], hosts: [], task: null },
  }),
};
const { server, link } = await serve(assets, (req, res) => {
  const url = new URL(req.url, "http://x");
  if (!url.pathname.startsWith("/v1/")) return false;
  const open = { "/v1/follow": follows, "/v1/agents/web/a/logs": prints }[url.pathname];
  if (open) {
    open.push(res);
    return true;
  }
  const answer = answers[url.pathname];
  res.writeHead(answer ? 200 : 503, { "content-type": "application/json" });
  res.end(JSON.stringify(answer ? answer(url.searchParams) : { code: "unavailable", message: "x" }));
  return true;
});
const { page, fault, end } = await open(link, { width: 1280, height: 860 }, { timezoneId: zone });

const say = (stream, result) => stream.write(`${JSON.stringify({ result })}\n`);
const news = (more) => ({ seq: String(history.last), epoch: 1, leader: "s1", events: [], reset: false, ...more });

/** until puts the clock forward until it is so. */
async function until(what, so, step = 100) {
  for (const limit = Date.now() + 60_000; !(await so()); await page.clock.runFor(step)) {
    if (Date.now() > limit) throw new Error(`${what}: not so within a minute`);
    await page.waitForTimeout(50);
  }
}
const at = (path) => page.evaluate((p) => (location.hash = p), path);
const live = () => page.locator("#state.good").count();

await page.clock.install({ time: new Date("2026-03-02T05:29:00Z") }); // 00:29 in New York
await page.goto(link);
await page.clock.pauseAt(new Date("2026-03-02T05:30:00Z"));
await until("the first stream", () => follows.length > 0);
say(follows[0], news());
await until("the first news", live);

// The stream falls silent and is given up. The next one is answered after 1.5 s, later than one looks after it.
await page.clock.runFor(5000);
await until("the second stream", () => follows.length > 1, 50);
const late = follows[1];
await page.clock.runFor(1500);
say(late, news());
await until("the late answer", live, 50).catch(() => fault("a stream that answers after 1.5 s is never taken"));
console.log("a late stream is taken");

/** tell says what happens in the stream that is open. */
const tell = (more) => {
  const stream = follows.findLast((s) => !s.destroyed);
  if (stream) say(stream, news(more));
};
const beats = setInterval(tell, 100);

// Events that a server left out are read, without a gap.
await at("/events");
const texts = () => page.locator(".feed .text").allTextContents();
await until("the events", async () => (await texts()).length >= 100);
const day = await page.locator(".feed time").first().textContent();
if (day !== "2025-07-01 20:00:00") fault(`an event of 20:00 on the 1st is shown at ${day}`);
history.last = 900;
tell({ events: range(701, 900).map((n) => event(n)), left_out: "400" });
await until("the beginning of the history", async () => {
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  return page.getByText("The history begins here.").isVisible();
});
const got = await texts(),
  want = range(1, 900).toReversed();
const missing = want.filter((n, i) => got[i] !== `old ${n}`);
if (missing.length > 0 || got.length !== want.length) fault(`${got.length} events, wrong from ${missing[0]} on`);
console.log("what was left out is read");

// An older backup is restored: its numbers are lower, and what comes after it is shown.
history = { last: 50, word: "new" };
tell({ reset: true, epoch: 2 });
await until("the other history", async () => (await texts())[0] === "new 50");
history.last = 51;
tell({ epoch: 2, events: [event(51)] });
await until("what happens after a restore", async () => (await texts())[0] === "new 51");
if ((await texts()).some((t) => t.startsWith("old"))) fault("what was before the restore is shown still");
console.log("another history is shown");

// A timeline says the day where it is another one.
await at("/timeline");
await until("the timeline", () => page.getByText("As a table").count());
await page.getByText("As a table").click();
const cells = () => page.locator("#lanes-table td.num").allTextContents();
await until("the table", async () => (await cells()).length === 2);
const [from, to] = await cells();
if (!/^2026-03-01 23:3\d:\d\d$/.test(from) || !/^00:1\d:\d\d$/.test(to)) fault(`a life was from ${from} to ${to}`);
console.log("days are those of the reader");

// Output goes on behind the end of its stream, and shows nothing twice.
await at("/agent/web/a?tab=output");
const shown = () => page.locator(".pane .xterm-rows").innerText();
const chunk = (text) => ({ data: Buffer.from(text).toString("base64") });
await until("the output", () => prints.length > 0);
say(prints[0], chunk("first words\r\n"));
await until("the first words", async () => (await shown()).includes("first words"));
prints[0].end();
await until("the next stream of output", () => prints.length > 1);
say(prints[1], chunk("first words\r\nnext words\r\n"));
await until("the next words", async () => (await shown()).includes("next words"));
if ((await shown()).split("first words").length !== 2) fault(`the output is ${await shown()}`);
console.log("output goes on");

clearInterval(beats);
server.close();
server.closeAllConnections();
await end();
