// Drives the page in a browser: smoke.mjs LINK FOLDER. It prints a line for each step, asks for what it cannot
// do by itself by a line "please: ...", and goes on when a line comes back.
import { createInterface } from "node:readline";
import { once } from "node:events";
import { open } from "./browser.mjs";

const [link, folder] = process.argv.slice(2);
const title = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">';
const input = createInterface({ input: process.stdin });

async function please(what) {
  console.log(`please: ${what}`);
  await once(input, "line");
}

const { browser, page, fault, audit, end } = await open(link, { width: 1280, height: 860 });

const at = async (path) => {
  await page.evaluate((p) => (location.hash = p), path);
  await page.waitForTimeout(300);
};

/** audited are the colours in which axe-core looks at a view; the others are made of the same parts. */
const audited = {
  fleet: ["light", "dark"],
  inbox: ["light", "dark"],
  agent: ["light", "dark"],
  room: ["dark"],
  hosts: ["light"],
  servers: ["dark"],
  events: ["light"],
};

async function seen(name) {
  for (const [width, height] of [
    [1280, 860],
    [390, 844],
  ]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(150);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) fault(`${name} is ${over} pixels too wide at ${width}`);
    await page.screenshot({ path: `${folder}/${name}-${width}.png` });
    if (width === 390) await audit(`${name} at ${width}`, audited[name] ?? []);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  console.log(`seen: ${name}`);
}

// Nobody is let in without a link, and a link lets one browser in.
const stranger = await (await browser.newContext()).newPage();
await stranger.goto(link.replace(/#.*/, ""));
await stranger.getByText("You are signed out").waitFor();
await page.goto(link);
await page.locator("#state.good").waitFor();
if (page.url().includes("code=")) fault("the code stays in the address");
await stranger.goto(link);
await stranger.reload();
await stranger.getByText("You are signed out").waitFor();
console.log("signed in");

// Fleet, live.
await page.locator("#agents").getByText("idle").first().waitFor();
await page.locator("#cluster").getByText("leads").waitFor();
await page.locator(".feed li").first().waitFor();
await seen("fleet");

// Inbox: a task that has failed, whose title is a script, is tried again at 390 pixels, by keyboard.
await please("fail a task");
await page.setViewportSize({ width: 390, height: 844 });
await at("/inbox");
await page.locator(".items a", { hasText: "window.hacked" }).click();
await page.locator("#detail").getByText(title).first().waitFor();
await page.screenshot({ path: `${folder}/answer-390.png` });
await page.keyboard.press("t");
await page.getByText("The task is in the queue again.").waitFor();
console.log("answered");
await page.setViewportSize({ width: 1280, height: 860 });
await page.locator(".items a", { hasText: "window.hacked" }).waitFor(); // it fails again
await seen("inbox");

for (const [path, name, wanted] of [
  ["/agents", "agents", "demo/words"],
  ["/tasks", "tasks", "window.hacked"],
  ["/room/demo", "room", "checksum"],
  ["/agent/demo/words", "agent", "What is due"],
  ["/agent/demo/words?tab=output", "output", "Fence left"],
  ["/hosts", "hosts", "east"],
  ["/servers", "servers", "leads"],
  ["/events", "events", "task."],
  ["/timeline", "timeline", "election"],
]) {
  await at(path);
  await page.locator("main").getByText(wanted).first().waitFor();
  if (name === "output") await page.locator(".xterm-rows").getByText("starts with runner").waitFor();
  await seen(name);
}

// A task's way from hand to hand, what came too late, and that its text is gone: as the API says it.
// Its number is one that no task of this fleet gets.
await page.route(/\/v1\/tasks\/420042(\?|$)/, async (route) => {
  const ids = { id: "420042", parent: "41", next: "43", room: "demo", role: "words" };
  const lists = { failed: [], late_results: [{ attempt: 1, incarnation: "7", result: "<b>late</b>" }] };
  const gone = { text_gone: true, result_dropped: "9" };
  const json = { ...ids, ...lists, ...gone, state: "COMPLETED", title: "handed on", hops: 2 };
  await route.fulfill({ json });
});
await at("/task/420042");
const facts = page.locator("dl.facts", { hasText: "Comes from" });
await facts.getByText("handed on 2 times in a row").waitFor();
if ((await facts.getByRole("link").allTextContents()).join() !== "task 41,task 43") fault("a task names no neighbours");
await page.getByText("<b>late</b>").waitFor();
await page.getByText("It was dropped").waitFor();
await page.getByText("9 bytes of it went").waitFor();
await seen("handed-on");

// The rest of the bar on a phone, by keyboard alone.
await page.setViewportSize({ width: 390, height: 844 });
await page.locator(".more summary").focus();
await page.keyboard.press("Enter");
await page.locator(".sheet").getByRole("link", { name: "Servers" }).waitFor();
await page.screenshot({ path: `${folder}/more-390.png` });
await audit("the rest of the bar", ["light", "dark"]);
await page.locator(".sheet").getByRole("link", { name: "Servers" }).focus();
await page.keyboard.press("Enter");
await page.locator("h1", { hasText: "Servers" }).waitFor();
if (await page.locator(".sheet").isVisible()) fault("the rest of the bar stays open");
await page.setViewportSize({ width: 1280, height: 860 });
console.log("the rest of the bar leads on");

// Search, by keyboard alone.
await page.keyboard.press("Control+k");
await page.getByRole("combobox").fill("words.2");
await page.getByRole("option", { name: "demo/words.2" }).waitFor();
await page.keyboard.press("Enter");
await page.locator("h1", { hasText: "demo/words.2" }).waitFor();
console.log("found");

// A task ends while one looks: the page follows without being asked.
await at("/fleet");
const leader = await page.locator("#cluster dd b").first().textContent();
await please(`kill ${leader}`);
await page.waitForFunction((was) => {
  const now = document.querySelector("#cluster dd b")?.textContent;
  return now && now !== was && document.querySelector("#state.good");
}, leader);
console.log("the page has a new leader");

// What serves the page stands still: the page says within 3 s that what it shows is old, and goes on afterwards.
await please("freeze");
const froze = Date.now();
await page.locator("#stale").waitFor();
if (Date.now() - froze > 3000) fault(`what is shown counts as old after ${Date.now() - froze} ms`);
await page.screenshot({ path: `${folder}/stale-1280.png` });
await please("thaw");
await page.locator("#state.good").waitFor();
console.log("the page goes on");

// A browser that is signed out sees nothing more.
await page.getByRole("button", { name: "Sign out" }).click();
await page.getByText("You are signed out").waitFor();
await page.reload();
await page.getByText("You are signed out").waitFor();
if (await page.evaluate(() => window.hacked)) fault("words of an agent were run");
await end();
