// Takes the actions of the page, about half of them by keyboard alone, and looks at what has come of each in the fleet
// itself: actions.mjs LINK FOLDER VIGIL ADDRESS PID, where PID is of the agentd of host h3. It prints a line for each.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { open } from "./browser.mjs";

const [link, folder, vigil, addr, doomed] = process.argv.slice(2);
const { page, fault, audit, end } = await open(link, { width: 1280, height: 860 });
const patience = 60_000;
const began = Date.now();
const run = promisify(execFile);

/** cli does as a person at a terminal would. */
const cli = async (...args) => (await run(vigil, ["--addr", addr, ...args])).stdout;

/** api reads what the fleet says of itself, beside the page. */
async function api(path) {
  const r = await fetch(`http://${addr}/v1/${path}`);
  const got = await r.json();
  if (!r.ok) throw new Error(`${path}: ${got.message}`);
  return got;
}

/** until looks again and again until it is so, and gives what was seen then. */
async function until(what, look, so) {
  for (let last, limit = Date.now() + patience; ; await page.waitForTimeout(100)) {
    last = await look();
    if (so(last)) return last;
    if (Date.now() > limit) throw new Error(`${what}: not so within a minute: ${JSON.stringify(last)}`);
  }
}

const agent = async (name) => (await api(`agents/${name}`)).agent;
const agentIs = (name, what, so) => until(`${name}: ${what}`, () => agent(name), so);
const lives = (name, not) =>
  agentIs(name, "lives", (a) => a.process === "running" && a.participant !== "DISCONNECTED" && a.incarnation !== not);
const task = (id) => api(`tasks/${id}`);
const taskIs = (id, state, so = () => true) =>
  until(`task ${id}: ${state}`, () => task(id), (t) => t.state === state && so(t));
const create = async (role, title) => JSON.parse(await cli("task", "create", role, title, "--json")).id;
const host = (name) => api(`hosts/${name}`);
const escalation = async (kind, subject) =>
  (await api("escalations?all=true")).escalations.find((e) => e.kind === kind && e.subject === subject);

const at = async (path) => {
  await page.evaluate((p) => (location.hash = p), path);
  await page.waitForFunction((p) => location.hash === "#" + p, path);
};
/** said waits until the page says what was done; it fails at once where the page says why nothing was. */
async function said(text) {
  const found = await page.waitForFunction((t) => {
    const all = [...document.querySelectorAll(".said p")];
    return (all.find((p) => p.textContent.includes(t)) ?? all.find((p) => p.classList.contains("bad")))?.textContent;
  }, text);
  const got = await found.jsonValue();
  if (!got.includes(text)) throw new Error(`for ${text} the page says ${got}`);
}
/** hushed waits until the page says nothing any more. */
const hushed = () => page.waitForFunction(() => !document.querySelector(".said p"));
const detail = page.locator("#detail");
const over = () => page.getByText(/^(This waits no longer|Nothing waits for you)\.$/).waitFor();
const sure = page.locator(".sure");
let n = 0;
const done = (what) => console.log(`${++n}. ${what} (${((Date.now() - began) / 1000).toFixed(1)} s)`);

/** enter presses a button by keyboard. */
async function enter(button) {
  await button.focus();
  await page.keyboard.press("Enter");
}

/** sureByKey answers what the page asks, by keyboard: the answer has the focus already. */
async function sureByKey(label) {
  await sure.getByRole("button", { name: label }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
}

/** clickSure presses a button by mouse and then what the page asks. */
async function clickSure(within, label) {
  await within.getByRole("button", { name: label }).click();
  await sure.getByRole("button", { name: label }).click();
}

/** item is the line of the inbox about something that lasts. */
const item = (subject, kind) =>
  page.locator(".items a:not(.old)").filter({ has: page.getByText(subject, { exact: true }) }).filter({ hasText: kind });

/** pick opens something in the inbox by mouse. */
async function pick(subject, kind) {
  await at("/inbox");
  await item(subject, kind).click();
  await detail.getByRole("heading", { name: kind }).waitFor();
}

/** walk goes to something in the inbox by its keys. */
async function walk(subject, kind) {
  await at("/inbox");
  await item(subject, kind).waitFor();
  const here = item(subject, kind).and(page.locator("[aria-current=true]"));
  for (let i = 0; i < 50 && !(await here.count()); i++) {
    await page.keyboard.press("j");
    await page.waitForTimeout(100);
  }
  if (!page.url().includes("?at=")) await page.keyboard.press("k"); // the first one is shown without being chosen
  await detail.getByRole("heading", { name: kind }).waitFor();
}

// Where it stops short, a picture says how the page was.
process.on("uncaughtException", async (e) => {
  console.log(e.stack);
  await page.screenshot({ path: `${folder}/stopped-1280.png` });
  process.exit(1);
});

await page.goto(link);
await page.locator("#state.good").waitFor();

// An agent: stopped by mouse, started by keyboard, restarted by its letter.
await at("/agent/plain/a");
const verdict = page.locator("#verdict");
await verdict.getByRole("button", { name: "Stop" }).click();
await sure.getByText("plain/a ends and stays off until somebody starts it.").waitFor();
await audit("an action that asks", ["light", "dark"]);
await page.screenshot({ path: `${folder}/sure-1280.png` });
await sure.getByRole("button", { name: "No" }).click();
await verdict.getByRole("button", { name: "Stop" }).and(page.locator(":focus")).waitFor(); // where one was
if ((await agent("plain/a")).desired !== "running") fault("No has stopped the agent");
await clickSure(verdict, "Stop");
await said("plain/a is stopped.");
await agentIs("plain/a", "is stopped", (a) => a.desired === "stopped" && a.process === "none");
await verdict.getByText("offline").first().waitFor();
done("an agent is stopped");
await enter(verdict.getByRole("button", { name: "Start" }));
await said("plain/a is started.");
let life = (await lives("plain/a")).incarnation;
await page.getByRole("heading", { name: `Life ${life}` }).waitFor();
done("an agent is started, by keyboard");

// What the page asks about is what is done: somebody else restarts the agent meanwhile, so that nothing is.
await page.keyboard.press("r");
await sure.getByText(`Life ${life} ends`).waitFor();
await cli("agent", "restart", "plain/a");
life = (await lives("plain/a", life)).incarnation;
await page.getByRole("heading", { name: `Life ${life}` }).waitFor();
await sureByKey("Restart");
await said("Nothing was changed.");
await hushed();
await page.keyboard.press("r");
await sure.getByText(`Life ${life} ends`).waitFor();
if ((await agent("plain/a")).incarnation !== life || (await agent("plain/a")).order !== "none")
  fault("an answer about a life that is over has ended the next one");
done("an answer about an earlier life changes nothing");
await sureByKey("Restart");
await said("plain/a is restarted.");
life = (await lives("plain/a", life)).incarnation;
await page.getByRole("heading", { name: `Life ${life}` }).waitFor();
done("an agent is restarted, by keyboard");

// Pauses: of an agent by mouse, of its room and of everything by keyboard, each seen in the fleet and taken back.
await verdict.getByRole("button", { name: "Pause", exact: true }).click();
await sure.getByText("nothing new is started or claimed until somebody resumes it").waitFor();
await sure.getByRole("button", { name: "Pause" }).click();
await said("plain/a is paused.");
await agentIs("plain/a", "is paused", (a) => a.paused);
await verdict.getByRole("button", { name: "Resume" }).click();
await said("plain/a goes on.");
await agentIs("plain/a", "goes on", (a) => !a.paused);
done("an agent is paused and goes on");
const main = page.locator("main");
for (const [path, name, is] of [
  ["/room/plain", "plain", async () => (await api("rooms/plain")).paused],
  ["/fleet", "Everything", async () => (await api("overview")).paused],
]) {
  await at(path);
  const label = name === "Everything" ? "Pause everything" : "Pause";
  await enter(main.getByRole("button", { name: label, exact: true }));
  await sureByKey(label);
  await said(`${name} is paused.`);
  await until(`${name} is paused`, is, (paused) => paused === true);
  await enter(page.getByRole("button", { name: "Resume" }));
  await said(`${name} goes on.`);
  await until(`${name} goes on`, is, (paused) => paused !== true);
}
done("a room and everything are paused and go on, by keyboard");

// A permission prompt: the agent is restarted from the inbox by its letter, stopped by mouse, and answered by keyboard.
const prompt = "Waits at a permission prompt";
const asking = await create("perm/a", "prompts");
life = (await lives("perm/a")).incarnation;
await walk("perm/a", prompt);
await page.keyboard.press("r");
await sureByKey("Restart");
await said("perm/a is restarted.");
await lives("perm/a", life);
await over();
await taskIs(asking, "IN_PROGRESS", (t) => t.attempt === 2);
done("an agent is restarted from the inbox, by keyboard");
await pick("perm/a", prompt);
await detail.locator(".xterm-rows").getByText("Do you want to proceed?").waitFor();
await clickSure(detail, "Stop");
await said("perm/a is stopped.");
await agentIs("perm/a", "is stopped", (a) => a.desired === "stopped" && a.process === "none");
await over();
await taskIs(asking, "PENDING");
done("an agent is stopped from the inbox");
await at("/agent/perm/a");
await verdict.getByRole("button", { name: "Start" }).click();
await said("perm/a is started.");
await walk("perm/a", prompt);
await page.keyboard.press("a");
await detail.getByLabel("Answer").and(page.locator(":focus")).waitFor();
await page.keyboard.type("certainly");
await page.keyboard.press("Enter");
await said("Typed to perm/a.");
await taskIs(asking, "COMPLETED", (t) => t.result === "told: certainly");
await over();
done("a permission prompt is answered, by keyboard");

// A question of an agent is answered by mail.
const question = await create("asks/a", "asks");
await pick("asks/a", "Asks for input");
await detail.getByLabel("In its own words").getByText("which of the two?").waitFor();
await detail.getByPlaceholder("Or answer by mail").fill("the second one");
await detail.getByRole("button", { name: "Mail", exact: true }).click();
await said("Mail is on its way to asks/a.");
await taskIs(question, "COMPLETED", (t) => t.result === "told by mail");
await over();
done("a question is answered by mail");

// Mail that an agent leaves unanswered: somebody looks after it, the agent is told so at its terminal, it is over.
const held = await create("post/a", "holds");
await taskIs(held, "IN_PROGRESS");
await cli("mail", "send", "post/a", "are you there?", "--priority", "urgent");
const unread = "Mail without an answer";
await walk("post/a", unread);
await page.keyboard.press("e");
await said("It is yours; nobody is told of it again.");
await until("somebody looks after it", () => escalation("mail_unacknowledged", "post/a"), (e) => e.state === "acknowledged" && e.ack_by);
await detail.getByText("looks after it.").waitFor();
done("an escalation is acknowledged, by keyboard");
await detail.getByPlaceholder("Type something into its terminal").fill("look into your mail");
await detail.getByRole("button", { name: "Type", exact: true }).click();
await said("Typed to post/a.");
await taskIs(held, "COMPLETED", (t) => t.result === "told: look into your mail");
done("an agent is nudged");
await detail.getByRole("button", { name: "Close" }).click();
await said("Closed.");
await until("it is closed", () => escalation("mail_unacknowledged", "post/a"), (e) => e.state === "closed");
await over();
done("an escalation is closed");

// A task of which agents die: it is released in the inbox by its letter and in its own view by mouse, and canceled.
const quarantined = "Quarantined";
const deadly = await create("doom/a", "dies");
const subject = `task ${deadly}`;
await taskIs(deadly, "QUARANTINED", (t) => t.attempt === 1);
await walk(subject, quarantined);
await page.keyboard.press("t");
await sure.getByText("what counted against it is forgotten").waitFor();
await sureByKey("Release");
await said("The task is in the queue again.");
await taskIs(deadly, "QUARANTINED", (t) => t.attempt === 2);
done("a quarantined task is released in the inbox, by keyboard");
await at(`/task/${deadly}`);
await page.locator("dl.facts dd").first().filter({ hasText: /^2\b/ }).waitFor();
await clickSure(page.locator("main"), "Release");
await said("It is in the queue again.");
await taskIs(deadly, "QUARANTINED", (t) => t.attempt === 3);
await page.locator("dl.facts dd").first().filter({ hasText: /^3\b/ }).waitFor();
done("a quarantined task is released in its view");
await pick(subject, quarantined);
await clickSure(detail, "Cancel the task");
await said("The task is canceled.");
await taskIs(deadly, "CANCELED");
done("a quarantined task is canceled in the inbox");
await at(`/task/${deadly}`);
await page.getByText("canceled", { exact: true }).first().waitFor();
if (await page.getByRole("button", { name: "Release" }).count()) fault("a task that is canceled can be released");

// Tasks that fail are tried again, in the inbox by mouse and in their view by keyboard.
const first = await create("clumsy/a", "fails"),
  second = await create("clumsy/a", "fails");
await taskIs(first, "FAILED");
await taskIs(second, "FAILED");
await pick(`task ${first}`, "Failed");
await detail.getByRole("button", { name: "Try again" }).click();
await said("The task is in the queue again.");
await taskIs(first, "COMPLETED", (t) => t.attempt === 2);
await over();
done("a task that has failed is tried again from the inbox");

// Here somebody else has tried it again already, and the page has not heard of it.
await at(`/task/${second}`);
const again = page.getByRole("button", { name: "Try again" });
await again.waitFor();
const old = JSON.stringify(await task(second));
await page.route(`**/v1/tasks/${second}?*`, (r) => r.fulfill({ body: old, contentType: "application/json" }));
await cli("task", "retry", second);
await taskIs(second, "COMPLETED", (t) => t.attempt === 2);
await enter(again);
await said("Nothing was changed.");
const unchanged = await task(second);
if (unchanged.state !== "COMPLETED" || unchanged.attempt !== 2) fault(`a click on what was has made ${unchanged.state} of it`);
await hushed();
await page.unroute(`**/v1/tasks/${second}?*`);
done("a click on something that has changed meanwhile changes nothing");
const third = await create("clumsy/a", "fails");
await taskIs(third, "FAILED");
await at(`/task/${third}`);
await enter(again);
await said("It is in the queue again.");
await taskIs(third, "COMPLETED", (t) => t.attempt === 2);
await page.getByText("completed", { exact: true }).first().waitFor();
done("a task that has failed is tried again in its view, by keyboard");
const waiting = await create("nobody/a", "waits for ever");
await at(`/task/${waiting}`);
await enter(page.getByRole("button", { name: "Cancel" }));
await sure.getByText("It ends for good").waitFor();
await sureByKey("Cancel");
await said("It is canceled.");
await taskIs(waiting, "CANCELED");
await page.getByText("canceled", { exact: true }).first().waitFor();
done("a task is canceled in its view, by keyboard");

// An agent whose restarts are paused is started now, from the inbox by its letter and in its view by mouse.
await cli("settings", "set", "breaker_starts=1");
for (const [what, press] of [
  ["from the inbox, by keyboard", async () => (await walk("park/a", "Restarts are paused"), page.keyboard.press("u"))],
  ["in its view", async () => (await at("/agent/park/a"), verdict.getByRole("button", { name: "Start now" }).click())],
]) {
  const was = await lives("park/a");
  process.kill(was.pid, "SIGKILL");
  await agentIs("park/a", "is parked", (a) => a.parked);
  await press();
  await said("park/a is started now.");
  await lives("park/a", was.incarnation);
  await hushed();
  done(`an agent whose restarts are paused is started ${what}`);
}
await verdict.getByRole("button", { name: "Start now" }).waitFor({ state: "detached" });

// A room that was canceled for its silence is reopened.
const silent = await create("quiet/a", "nobody takes it");
await cli("room", "watchdog", "quiet", "--idle-limit", "1s");
await taskIs(silent, "CANCELED");
await cli("room", "watchdog", "quiet", "--disable");
await walk("quiet", "Room canceled");
await page.keyboard.press("o");
await said("The room is open again.");
await taskIs(silent, "PENDING");
if ((await api("rooms/quiet")).canceled) fault("the room that was reopened is canceled");
done("a room is reopened, by keyboard");

// A host is drained on its card by mouse, which moves its agent, and takes agents again by keyboard.
const from = (await lives("roam/a")).host;
await at("/hosts");
await clickSure(page.getByRole("region", { name: from, exact: true }), "Drain");
await said(`${from} is drained.`);
const moved = await agentIs("roam/a", "has moved", (a) => a.host !== from && a.process === "running");
if (!(await host(from)).drain) fault(`${from} is not drained`);
await page.getByRole("region", { name: from, exact: true }).getByText("draining").waitFor();
await at("/agent/roam/a");
await page.getByRole("link", { name: moved.host, exact: true }).first().waitFor();
done("a host is drained");
await at(`/host/${from}`);
await enter(page.getByRole("button", { name: "End the drain" }));
await said(`${from} takes agents again.`);
await until("the drain ends", () => host(from), (h) => !h.drain);
await page.getByRole("button", { name: "Drain", exact: true }).waitFor();
done("a drain is ended, by keyboard");

// A host dies, and so many lives with it that the brake is set: it is released by mouse, and the host is confirmed dead
// by keyboard.
await lives("lone/a");
await lives("lost/a");
await cli("settings", "set", "brake_agents=1", "brake_share=1");
process.kill(Number(doomed), "SIGKILL");
await page.locator("#brake").waitFor();
await pick("cluster", "Many were lost at once");
await clickSure(detail, "Release the brake");
await said("The brake is released.");
await page.locator("#brake").waitFor({ state: "detached" });
if ((await api("overview")).brake) fault("the brake is set still");
done("the brake is released");
const doubt = "Life unproven";
await walk("lone/a", doubt);
await until("nothing is heard of h3", () => host("h3"), (h) => h.unproven > 0 && h.views.every((v) => v.stream !== "alive" && v.gossip !== "alive"));
await page.keyboard.press("d");
await sure.getByText("You vouch that nothing of h3 runs any more.").waitFor();
await sureByKey("The host is dead");
await said("Its agents are started elsewhere.");
await until("its lives are over", () => host("h3"), (h) => h.state === "lost" && h.unproven === 0);
await over();
done("a host is confirmed dead, by keyboard");

// Mail: to an agent by keyboard, and an answer in its conversation by mouse.
await at("/new-mail?to=plain/a.1");
await page.getByLabel("Subject").focus();
await page.keyboard.type("Lunch");
await page.keyboard.press("Tab");
await page.keyboard.type("at noon?");
await page.keyboard.press("Control+Enter");
await page.locator(".thread summary", { hasText: "Lunch" }).click();
await page.locator(".thread").getByLabel(/^Mail to/).fill("or at one?");
await page.locator(".thread").getByRole("button", { name: "Send" }).click();
const mails = await until("both mails", async () => (await api("mail?agent=plain/a")).mails, (m) => m.length === 2);
if (mails.map((m) => m.subject).join() !== "Lunch,Re: Lunch" || mails[1].thread !== mails[0].id)
  fault(`the mails are ${JSON.stringify(mails)}`);
await page.locator(".talk").getByText("or at one?").waitFor();
done("a mail is written, by keyboard, and answered");

// A room file is taken from a disk.
await writeFile(`${folder}/taken.yaml`, "room: taken\nroles:\n  - name: a\n");
await at("/apply");
await page.getByLabel("Take a file").setInputFiles(`${folder}/taken.yaml`);
await page.getByRole("button", { name: "Show what it does" }).click();
await page.locator("#plan", { hasText: "is created" }).waitFor();
// Somebody else creates a room of that name meanwhile: it stays as it is.
await writeFile(`${folder}/other.yaml`, "room: taken\nroles:\n  - name: b\n");
await cli("apply", "-f", `${folder}/other.yaml`, "--yes");
await enter(page.getByRole("button", { name: "Apply it" }));
await said("Nothing was changed.");
if ((await api("rooms/taken")).roles.map((r) => r.spec.name).join() !== "b") fault("somebody else's room was replaced");
await cli("room", "delete", "taken", "--yes");
await until("the other room is gone", () => api("rooms"), ({ rooms }) => !rooms.some((r) => r.name === "taken"));
await hushed();
await page.getByRole("button", { name: "Show what it does" }).click();
await page.locator("#plan", { hasText: "is created" }).waitFor();
await enter(page.getByRole("button", { name: "Apply it" }));
await page.locator("h1", { hasText: "taken" }).waitFor();
if ((await api("rooms/taken")).roles.length !== 1) fault("the room of the file is not there");
done("a room file is taken and applied");

// The look of the page, by mouse and by keyboard.
const look = () => page.evaluate(() => document.documentElement.dataset.look);
const looks = [await look()];
await page.locator(".foot").getByRole("button", { name: /^Look/ }).click();
looks.push(await look());
await page.keyboard.press("Control+k");
await page.getByRole("combobox", { name: "Rooms, agents, tasks, hosts, commands" }).fill("change the look");
await page.getByRole("option", { name: /Change the look/ }).waitFor();
await page.keyboard.press("Enter");
looks.push(await look());
if (new Set(looks).size !== 3) fault(`the looks were ${looks}`);
done("the look is changed");
await end();
