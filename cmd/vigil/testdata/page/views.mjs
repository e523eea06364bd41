// Tries every view and action beside those of smoke.mjs: views.mjs LINK FOLDER. It prints a line for each step.
import { loseAnswer, open } from "./browser.mjs";

const [link, folder] = process.argv.slice(2);
const { page, fault, audit, end } = await open(link, { width: 1280, height: 860 });
const at = async (path) => {
  await page.evaluate((p) => (location.hash = p), path);
  await page.waitForTimeout(300);
};

/** shown takes a picture in both sizes and lets axe-core look, light and dark. */
async function shown(name) {
  await page.waitForFunction(() => !document.querySelector(".said p"));
  for (const [width, height] of [
    [1280, 860],
    [390, 844],
  ]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(300);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) fault(`${name} is ${over} pixels too wide at ${width}`);
    await page.screenshot({ path: `${folder}/${name}-${width}.png` });
    await audit(`${name} at ${width}`, ["light", "dark"]);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  console.log(`seen: ${name}`);
}

await page.goto(link);
await page.locator("#state.good").waitFor();
await page.locator("#agents").getByText("idle").first().waitFor();
await page.locator(".chart .key.good", { hasText: /running [1-9]/ }).waitFor();
await shown("fleet");

// What is typed survives what streams in, another view and a reload.
await at("/new-task?to=demo/words");
await page.getByLabel("Title").fill("count <b>what</b> is typed");
await page.getByLabel("Text").fill("address.txt");
await page.waitForTimeout(2500);
await at("/fleet");
await page.reload();
await page.locator("#state.good").waitFor();
await at("/new-task?to=demo/words");
if ((await page.getByLabel("Text").inputValue()) !== "address.txt") fault("what was typed is gone");
await shown("new-task");
await page.getByRole("button", { name: "Create the task" }).click();
await page.locator(".title", { hasText: "count <b>what</b> is typed" }).waitFor();
await shown("task");

// Mail of a room is a conversation.
await at("/room/demo");
await page.locator("#mail").getByLabel("Subject").fill("Plans");
await page.locator("#mail").getByLabel("Mail to demo").fill("We stop at noon. <script>window.hacked = 3</script>");
const send = page.locator("#mail").getByRole("button", { name: "Send" });
await loseAnswer(page, /\/v1\/mail$/);
await send.click();
await page.getByText("The server of this page does not answer.").waitFor();
await send.click();
await page.getByText("Mail is on its way to demo.").waitFor();
await page.locator(".thread summary", { hasText: "Plans" }).click();
await page.locator(".talk").getByText("We stop at noon.").waitFor();
if ((await page.locator(".thread summary", { hasText: "Plans" }).count()) !== 1) fault("a mail was sent twice");
await shown("room");

// A room file: a mistake is named, the plan is shown first, and what it says is done.
await at("/apply");
const file = page.getByLabel("As for vigil apply");
await file.fill("room: second\nroles:\n  - nam: builder\n");
await page.getByRole("button", { name: "Show what it does" }).click();
await page.getByRole("alert").waitFor();
await file.fill("room: second\nroles:\n  - name: builder\n    runner: words\n    replicas: 2\n");
await page.getByRole("button", { name: "Show what it does" }).click();
await page.locator("#plan", { hasText: "is created" }).waitFor();
await shown("apply");
await page.getByRole("button", { name: "Apply it" }).click();
await page.locator("h1", { hasText: "second" }).waitFor();
console.log("applied");

// Timeline: closer by key and wheel; a click leads to the events of that moment.
await at("/timeline");
await page.getByRole("button", { name: "1 m" }).click();
await page.locator("#lanes canvas").waitFor();
await page.waitForTimeout(1000);
await shown("timeline");
await page.keyboard.press("+");
await page.locator("#lanes canvas").hover();
await page.mouse.wheel(0, -300);
await page.getByText("As a table").click();
await page.locator("#lanes-table tbody tr").first().waitFor();
await page.locator("#lanes-table tbody a").first().click();
await page.locator(".feed li.here").waitFor();
await shown("moment");

// Events: a field filters, and the list goes back to the beginning.
await at("/events");
await page.getByLabel("kind").fill("server.announced");
await page.waitForFunction(() =>
  [...document.querySelectorAll(".feed .kind")].every((k) => k.textContent === "server.announced"),
);
await page.getByText("The history begins here.").waitFor();
if ((await page.getByLabel("kind").inputValue()) !== "server.announced") fault("the field lost its focus");
await page.getByLabel("kind").fill("");
await page.locator(".feed li").nth(50).waitFor();
for (let i = 0; i < 100 && !(await page.getByText("The history begins here.").isVisible()); i++) {
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForTimeout(100);
}
await page.getByText("The history begins here.").waitFor();
console.log("back to the beginning");

// Past lives: one is ended, and stands there with how. It is of an agent without tasks, which stays as it is shown.
await at("/agent/second/builder");
await page.getByRole("button", { name: "Restart" }).click();
await page.locator(".sure").getByRole("button", { name: "Restart" }).click();
await page.getByText("second/builder is restarted.").waitFor();
await at("/agent/second/builder?tab=lives");
await page.locator("td", { hasText: "#2" }).first().waitFor({ timeout: 60_000 });
await shown("lives");

// An agent on one screen: how it is and why, what is due, and what it did.
await at("/agent/demo/words");
await page.locator("#due").getByText("Lease").first().waitFor();
await page.locator(".feed li").first().waitFor();
await shown("agent");

// Servers say how far they are, and each whom it hears.
await at("/servers");
const hearing = page.getByRole("table", { name: "Who hears whom" });
await page.waitForFunction(() => document.querySelectorAll('[aria-label="Who hears whom"] .badge.good').length === 6);
if ((await hearing.getByText("itself").count()) !== 3) fault("a server does not say that it is itself");
await page.getByRole("table", { name: "Raft" }).getByText("leader", { exact: true }).waitFor();
await shown("servers");

// Search finds commands and names.
await page.keyboard.press("Control+k");
await page.getByRole("combobox").fill("demo");
await page.getByRole("option", { name: "demo/words.2" }).waitFor();
await shown("search");
await page.keyboard.press("Escape");

if (await page.evaluate(() => window.hacked)) fault("words of an agent were run");
await end();
