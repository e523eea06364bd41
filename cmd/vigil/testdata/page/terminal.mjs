// Takes over an agent's terminal, by keyboard alone: terminal.mjs LINK FOLDER AGENT.
import { createInterface } from "node:readline";
import { once } from "node:events";
import { open } from "./browser.mjs";

const [link, folder, agent] = process.argv.slice(2);
const input = createInterface({ input: process.stdin });
const { page, fault, audit, end } = await open(link, { width: 1280, height: 860 });
const shown = (text) => page.locator(".pane .xterm-rows").getByText(text).first().waitFor();
const role = page.locator(".turn");

await page.goto(link);
await page.locator("#state.good").waitFor();
await page.evaluate((a) => (location.hash = `/agent/${a}?tab=screen`), agent);
await shown("Do you want to proceed?");

console.log("please: size 200 to 200"); // who only looks leaves it as it is
await once(input, "line");
await page.keyboard.press("w");
await role.getByText("What you type goes to").waitFor();
console.log("please: size 60 to 190");
await once(input, "line");
await page.keyboard.type("yex");
await page.keyboard.press("Backspace");
await shown("ye");
console.log("please: look at it");
await once(input, "line");
await page.waitForFunction(() => !document.querySelector(".said p"));
for (const [width, height] of [
  [1280, 860],
  [390, 844],
]) {
  await page.setViewportSize({ width, height });
  await page.waitForTimeout(300);
  if (width === 390) {
    console.log("please: size 30 to 59");
    await once(input, "line");
    await page.waitForFunction(() => {
      const box = document.querySelector(".pane.screen");
      return box.scrollWidth <= box.clientWidth; // all of it is in view
    });
  }
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) fault(`the terminal is ${over} pixels too wide at ${width}`);
  await role.scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${folder}/typing-${width}.png` });
  await audit(`a terminal that is taken at ${width}`, ["light", "dark"]);
}
await page.setViewportSize({ width: 1280, height: 860 });

// Ctrl-] gives it back; what is typed then goes nowhere.
await page.locator(".xterm-helper-textarea").focus();
await page.keyboard.press("Control+]");
await role.getByRole("button", { name: "Take over" }).waitFor();
console.log("please: size 200 to 200");
await once(input, "line");
await page.keyboard.type("zz");
await page.keyboard.press("w");
await role.getByText("What you type goes to").waitFor();
await page.keyboard.type("s, é");
await shown("yes, é");
if (await page.locator(".pane .xterm-rows").getByText("zz").count()) fault("what was typed after the end has arrived");
await page.keyboard.press("Enter");
await page.locator("#verdict").waitFor();
await page.getByRole("button", { name: "Give back" }).click();
await page.getByText("The terminal is free again.").first().waitFor();
await page.evaluate((a) => (location.hash = `/agent/${a}`), agent);
await page.locator(".feed").getByText("agent.terminal_released").first().waitFor();
console.log("typed");
await end();
