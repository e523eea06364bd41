// Has the browser tell what newly waits for a human, against what the API would say: messages.mjs ASSETS. Its clock
// stands and is put forward.
import { open, serve } from "./browser.mjs";

const [assets] = process.argv.slice(2);
const { server, link } = await serve(assets);
const { page, fault, end } = await open(link, { width: 1280, height: 860 });

/** told are the titles of messages. */
const told = [];
await page.exposeFunction("told", (title) => void told.push(title));
await page.addInitScript(() => {
  localStorage.setItem("vigil-notify", "on");
  document.hasFocus = () => false;
  globalThis.Notification = class {
    static permission = "granted";
    constructor(title) {
      globalThis.told(title);
    }
    close() {}
  };
});

/** waiting is who waits, and counts what an overview says of them. */
let waiting = ["web/a"],
  counts = { high: 1 },
  refuse = false,
  held = Promise.resolve();
const asked = { follow: 0, inbox: 0 };
const item = (agent) => ({ key: `prompt/${agent}`, kind: "prompt", subject: agent, lasts: true });
const answers = {
  "/v1/follow": () => {
    const overview = { verdicts: {}, inbox: counts, hosts: {}, tasks: [], servers: [] };
    return `${JSON.stringify({ result: { seq: "1", epoch: 1, leader: "s1", events: [], reset: false, overview } })}\n`;
  },
  "/v1/inbox": async () => {
    const body = JSON.stringify({ items: waiting.map(item) });
    await held;
    return body;
  },
};
await page.route(/\/v1\//, async (route) => {
  const { pathname } = new URL(route.request().url()),
    name = pathname.split("/").at(-1);
  if (name in asked) asked[name]++;
  if (!answers[pathname] || (refuse && name === "inbox"))
    return route.fulfill({ status: 503, json: { code: "unavailable", message: "x" } });
  await route.fulfill({ body: await answers[pathname]() });
});

/** until puts the clock forward until it is so. */
async function until(what, so) {
  for (const limit = Date.now() + 30_000; !so(); await page.clock.runFor(500)) {
    if (Date.now() > limit) throw new Error(`${what}: not so within 30 s; told: ${told}`);
    await page.waitForTimeout(20);
  }
}
const says = (agent) => until(`${agent} is told`, () => told.some((t) => t.includes(agent)));
/** overviews waits until the page has taken what is sent from now on. */
const overviews = async (n = asked.follow) => until("an overview", () => asked.follow > n + 1);

await page.clock.install();
await page.goto(link);
await page.clock.pauseAt(Date.now() + 60_000);
await until("the first look", () => asked.inbox > 0);
await overviews();
if (told.length) fault(`what waited before is told: ${told}`);
console.log("what waits already is no news");

waiting = ["web/b"]; // one was answered, another one has come
await says("web/b");
console.log("as many as before are told");

refuse = true;
waiting = ["web/b", "web/c"];
counts = { high: 2 };
const looks = asked.inbox;
await until("a look that fails", () => asked.inbox > looks);
refuse = false;
await says("web/c");
console.log("what a look has missed is told");

let release;
held = new Promise((r) => (release = r));
waiting = ["web/b", "web/c", "web/d"];
counts = { high: 3 };
const before = asked.inbox;
await until("a look that takes long", () => asked.inbox > before);
waiting = ["web/b", "web/c", "web/d", "web/e"];
counts = { high: 4 };
await overviews();
release();
await says("web/e");
console.log("what comes during a look is told");

if (new Set(told).size !== told.length || told.length !== 4) fault(`told: ${told}`);
server.close();
server.closeAllConnections();
await end();
