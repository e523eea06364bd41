// Drives the page against what the API would say of a large fleet: large.mjs ASSETS FOLDER. Lists go on, numbers are
// those of the fleet and not of what is shown, and nothing is asked for that no view needs.
import { open, serve } from "./browser.mjs";

const [assets, folder] = process.argv.slice(2);
const { server, link } = await serve(assets);
const { page, fault, audit, end } = await open(link, { width: 1280, height: 860 });

const asked = [];
const several = (n, make) => Array.from({ length: Math.max(n, 0) }, (_, i) => make(i));
const stalled = { kind: "stalled", reasons: [] };
const room = (i) => `r${String(i).padStart(4, "0")}`;
/** behind gives up to limit rows behind the first ones, and where the next ones are: 0 at the end. */
const behind = (first, limit, all, make) => {
  const last = Math.min(first + limit, all);
  return { rows: several(last - first, (i) => make(first + i + 1)), next: last < all ? last : 0 };
};
const agent = (i) => ({ name: `web/a.${i}`, host: "h1", verdict: stalled, why: "x", up: "5s" });
const task = (id, state) => ({
  ...{ id: String(id), state, title: `<b>t</b>${id}`, room: "web", role: "a" },
  ...{ in_state: "9s", rev: "3", expect: "600s" },
  ...{ failed: [{ attempt: 1, reason: "no <i>disk</i>" }], late_results: [], note: "half done" },
  ...{ attempt: 2, failures: 0, kills: 0, priority: 0, hops: 0 },
});
const at = (minute) => `2026-11-27T10:${minute}:00Z`;
const event = (seq, kind, attempt, holder, incarnation, minute) => ({
  ...{ seq, kind, attempt, agent: holder, incarnation, at: at(minute), task: "7" },
});
const host = {
  ...{ name: "h1", id: 1, state: "draining", running: 3, starting: 1, capacity: 9, unproven: 0, heard: "1s" },
  ...{ drain: true, drain_by: "ann", drain_at: at("00"), drain_left: "60s", views: [], warnings: [] },
  ...{ runners: ["r"], labels: { zone: "a" }, containment: "sealed", pressure: "memory" },
};
const raft = (state, behind) => ({
  ...{ state, term: "7", last_index: "1000", commit_index: "1000", applied_index: String(1000 - behind) },
  ...{ log_entries: "400", log_bytes: "67108864", snapshot_index: "900", snapshot_bytes: "1234567" },
  ...(state === "leader" ? { commit_p50: "0.0025s", commit_p99: "0.0123s" } : {}),
  hears: { s1: "0.2s", s2: "0.3s", s3: "125s" },
});
const machine = (id, more) => ({
  ...{ id, health: "alive", api_addr: "10.0.0.1:7420", raft_addr: "10.0.0.1:7421", version: "1", ...more },
});

/** answers are what the API says, by path. */
const answers = {
  "/v1/overview": () => ({ verdicts: { stalled: 12345 }, inbox: {}, hosts: {}, tasks: [], servers: [] }),
  // A look that is bounded may end without a row.
  "/v1/agents": ({ limit, after, verdicts }) =>
    verdicts && !after
      ? { agents: [], more: true, next: "apps/z" }
      : { agents: several(Math.min(limit, 300), agent), ...(limit <= 300 && { more: true, next: "web/a.300" }) },
  "/v1/tasks": ({ limit, state }) => ({ tasks: several(limit, (i) => task(1000 - i, state)), more: true, next: "500" }),
  "/v1/tasks/7": () => ({ ...task(7, "IN_PROGRESS"), holder: "web/a.2", holder_incarnation: "9" }),
  "/v1/tasks/8": () => ({ ...task(8, "PENDING"), failed: [{ attempt: 2, reason: "no <i>memory</i>" }] }),
  "/v1/events:back": ({ before }) =>
    before
      ? { events: [event("5", "task.claimed", 1, "web/a", "4", "00")] }
      : {
          events: [
            event("9", "task.claimed", 2, "web/a.2", "9", "20"),
            { ...event("8", "task.recovered", 1, "web/a", "4", "10"), text: "lost" },
          ],
          next: "8",
        },
  "/v1/rooms/web": () => ({
    name: "web",
    roles: [
      {
        ...{ spec: { name: "a", runner: "r" }, agents: 300, agents_live: 2 },
        tasks: { PENDING: 4321, IN_PROGRESS: 3, COMPLETED: 0, FAILED: 1 },
      },
    ],
  }),
  "/v1/rooms": ({ limit, after }) => {
    const { rows, next } = behind(Number(after.slice(1)), limit, 1201, (i) => ({ name: room(i), roles: [] }));
    return { rooms: rows, ...(next && { more: true, next: room(next) }) };
  },
  "/v1/hosts": ({ limit, after }) => {
    const one = (id) => ({ ...host, id, name: `h${id}`, state: id === 2 ? "lost" : host.state });
    const { rows, next } = behind(Number(after), limit, 201, one);
    return { hosts: rows, more: next > 0, next };
  },
  "/v1/hosts/h1": () => host,
  "/v1/servers": () => ({
    servers: [
      machine("s1", { leader: true, voter: true, zone: "east", figures: raft("leader", 0) }),
      machine("s2", { standby: true, zone: "west", figures: raft("follower", 17) }),
      machine("s3", { voter: true, figures: { error: "server s3 does not tell: no answer" } }),
    ],
  }),
  "/v1/status": () => ({ warnings: ["Server s2 runs version 9.9 <img src=x>, this one 0.2; finish the upgrade."] }),
  "/v1/mail": ({ limit, after }) => {
    const first = (Number(after) || 5000) - 1,
      n = Math.min(limit, first);
    const words = (id) => ({ from: "ann", to: "web/a", subject: `s${id}`, state: "queued", priority: "normal" });
    const mail = (id) => ({ id: String(id), thread: String(id), sent_at: at("00"), ...words(id) });
    return { mails: several(n, (i) => mail(first - i)), more: true, next: String(first - n + 1) };
  },
  "/v1/agents/web/a": () => ({ agent: agent(0), events: [], hosts: [], task: null }),
  "/v1/agents/web/a/deadlines": () => ({ deadlines: [], more: 0 }),
};
await page.route(/\/v1\//, async (route) => {
  const url = new URL(route.request().url()),
    q = (name) => url.searchParams.get(name) ?? "";
  asked.push(url.pathname + url.search);
  const answer = answers[url.pathname];
  if (!answer) return route.fulfill({ status: 503, json: { code: "unavailable", message: "x" } });
  const before = q("before") === "0" ? "" : q("before");
  const json = answer({
    ...{ limit: Number(q("limit")), after: q("after"), before, verdicts: q("verdicts") },
    state: url.searchParams.getAll("states")[0] || "PENDING",
  });
  await route.fulfill({ json });
});

await page.goto(link);

/** view shows a view, has check look at it, and at both sizes. */
async function view(name, path, check, axe = true) {
  await page.evaluate((p) => (location.hash = p), path);
  await check().catch((e) => fault(`${name}: ${e.message.split("\n")[0]}`));
  for (const [width, height] of [
    [1280, 860],
    [390, 844],
  ]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(100);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) fault(`${name} is ${over} pixels too wide at ${width}`);
    await page.screenshot({ path: `${folder}/large-${name}-${width}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  if (axe) await audit(name, ["light"]);
  console.log(`seen: ${name}`);
}

const row = (n) => page.locator("tbody tr").nth(n - 1);
const more = () => page.getByRole("button", { name: "Show more" }).click();

await view(
  "agents",
  "/agents?verdict=stalled",
  async () => {
    await page.getByText("stalled 12").waitFor();
    await row(200).waitFor();
    await more();
    await row(300).waitFor();
  },
  false,
);
await view(
  "tasks",
  "/tasks?state=PENDING&oldest=1",
  async () => {
    await row(200).waitFor();
    for (let n = 400; n <= 1000; n += 200) {
      await more();
      await row(n).waitFor();
    }
    await page.getByText("Go on behind these").click();
    await page.getByText("Behind task 500").waitFor();
    if (asked.some((a) => a.startsWith("/v1/tasks?") && a.includes("newest_first"))) fault("not the oldest first");
  },
  false,
);
await view(
  "rooms",
  "/rooms",
  async () => {
    const card = (name) => page.getByRole("region", { name, exact: true });
    for (let n = 200; n < 1000; n += 200) {
      await card(room(n)).waitFor();
      await more();
    }
    await page.getByText("Go on behind these").click();
    await page.getByText("Behind room r1000").waitFor();
    await card("r1200").waitFor();
    await more();
    await card("r1201").waitFor();
  },
  false,
);
await view("room", "/room/web", async () => {
  await page.locator("h3 .num").first().waitFor();
  const counts = await page.locator("h3 .num").allTextContents();
  if (counts.map((c) => c.replace(/\D/g, "")).join() !== "4321,3,0,1") fault(`the board counts ${counts}`);
  await page.getByText("All agents of web").waitFor();
  if (asked.some((a) => a.includes("states=COMPLETED"))) fault("an empty column was read");
});
await view("task", "/task/7", async () => {
  await page.getByText("Older events of it are gone").waitFor();
  await page.getByText("no <i>disk</i>").first().waitFor();
  await page.getByText("recovered", { exact: true }).waitFor();
});
// A task that waits for its next attempt has the note of the last one still; why that failed stands there.
await view("waiting", "/task/8", () => page.locator("td.text", { hasText: "no <i>memory</i>" }).waitFor());
await view("host", "/host/h1", async () => {
  await page.getByText("4 agents still here").waitFor();
  await row(1).waitFor();
});
await view("hosts", "/hosts", async () => {
  await page.locator("summary", { hasText: "4 agents" }).first().click();
  await page.locator("ul.rows a").first().waitFor();
  await more();
  await page.locator("section.card").nth(200).waitFor();
  await page.getByRole("region", { name: "h2", exact: true }).getByText("lost", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
});
await view("servers", "/servers", async () => {
  await page.getByText("standby").first().waitFor();
  await page.getByText("west").waitFor();
  await page.getByText("400 entries, 67.1 MB").first().waitFor();
  await page.getByText("to 900, 1.2 MB").first().waitFor();
  await page.getByText("2.5 ms").first().waitFor();
  await page.getByText("17", { exact: true }).waitFor();
  await page.getByText("server s3 does not tell: no answer").waitFor();
  await page.getByText("not for 2m 5s").first().waitFor();
  await page.locator("#warnings").getByText("version 9.9 <img src=x>, this one").waitFor();
});
await view("mail", "/agent/web/a?tab=mail", async () => {
  await page.locator(".thread").nth(199).waitFor();
  await page.getByText("s4999", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Show older ones" }).click();
  await page.locator(".thread").nth(399).waitFor();
});
server.close();
server.closeAllConnections();
await end();
