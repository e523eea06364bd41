// Drives the page in a browser: smoke.mjs LINK FOLDER. It prints a line for each step, asks for what it cannot
// do by itself by a line "please: ...", and goes on when a line comes back.
import { createInterface } from "node:readline";
import { once } from "node:events";
import { chromium } from "playwright-core";
import axe from "axe-core";

const [link, folder] = process.argv.slice(2);
const title = "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\">";
const input = createInterface({ input: process.stdin });
const faults = [];
const fault = (text) => faults.push(text);

async function please(what) {
  console.log(`please: ${what}`);
  await once(input, "line");
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.setDefaultTimeout(20_000);
page.on("pageerror", (e) => fault(`the page threw ${e.message}`));
page.on("dialog", (d) => (fault(`a dialog says ${d.message()}`), d.dismiss()));
page.on("console", (m) => /Content Security|Trusted|Refused/.test(m.text()) && fault(`the browser says ${m.text()}`));
page.on("request", (r) => new URL(r.url()).host !== new URL(link).host && fault(`something was asked of ${r.url()}`));

const at = async (path) => {
  await page.evaluate((p) => (location.hash = p), path);
  await page.waitForTimeout(300);
};

async function audit(name, schemes) {
  for (const scheme of schemes) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate(axe.source);
    const found = await page.evaluate(() => globalThis.axe.run());
    for (const v of found.violations) {
      fault(`${name}, ${scheme}: ${v.id}: ${v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary.split("\n").at(-1)).slice(0, 3).join("; ")}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** both are the views that are audited in both colours; the others are made of the same parts. */
const both = new Set(["fleet", "inbox", "agent"]);

async function seen(name) {
  for (const [width, height] of [[1280, 860], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(150);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) fault(`${name} is ${over} pixels too wide at ${width}`);
    await page.screenshot({ path: `${folder}/${name}-${width}.png` });
    if (width === 390) await audit(`${name} at ${width}`, both.has(name) ? ["light", "dark"] : ["dark"]);
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

for (const [path, name, wanted] of [["/agents", "agents", "demo/words"], ["/tasks", "tasks", "window.hacked"],
  ["/room/demo", "room", "checksum"], ["/agent/demo/words", "agent", "What is due"], ["/agent/demo/words?tab=output", "output", "Fence left"],
  ["/hosts", "hosts", "east"], ["/servers", "servers", "leads"], ["/events", "events", "task."]]) {
  await at(path);
  await page.locator("main").getByText(wanted).first().waitFor();
  if (name === "output") await page.locator(".xterm-rows").getByText("starts with runner").waitFor();
  await seen(name);
}

// A task ends while one looks: the page follows without being asked.
await at("/fleet");
const leader = await page.locator("#cluster dd b").first().textContent();
await please(`kill ${leader}`);
await page.waitForFunction((was) => {
  const now = document.querySelector("#cluster dd b")?.textContent;
  return now && now !== was && document.querySelector("#state.good");
}, leader);
console.log("the page has a new leader");

// A browser that is signed out sees nothing more.
await page.getByRole("button", { name: "Sign out" }).click();
await page.getByText("You are signed out").waitFor();
await page.reload();
await page.getByText("You are signed out").waitFor();
if (await page.evaluate(() => window.hacked)) fault("words of an agent were run");
await browser.close();
for (const f of new Set(faults)) console.log(`fault: ${f}`);
console.log("done");
process.exit(faults.length > 0 ? 1 : 0);
