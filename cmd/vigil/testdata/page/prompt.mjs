// Answers an agent's permission prompt from the inbox at the width of a phone: prompt.mjs LINK FOLDER AGENT.
import { open } from "./browser.mjs";

const [link, folder, agent] = process.argv.slice(2);
const { page, audit, end } = await open(link, { width: 390, height: 844 });
await page.goto(link);
await page.locator("#state.good").waitFor();
await page.evaluate(() => (location.hash = "/inbox"));
await page.locator(".items a", { hasText: agent }).click();
await page.locator("#detail .xterm-rows").getByText("Do you want to proceed?").waitFor();
console.log("the agent's screen is shown");
await audit("a prompt", ["light", "dark"]);
await page.screenshot({ path: `${folder}/prompt-390.png` });
await page.setViewportSize({ width: 1280, height: 860 });
await page.waitForTimeout(300);
await page.screenshot({ path: `${folder}/prompt-1280.png` });
await page.setViewportSize({ width: 390, height: 844 });
const asked = page.waitForRequest((r) => r.url().endsWith(":nudge"));
await page
  .getByRole("group", { name: "Usual answers" })
  .getByRole("button", { name: "1", exact: true })
  .click();
await page.getByText(`Typed to ${agent}.`).waitFor();
if (!(await asked).postDataJSON().if_dialog) throw new Error("the answer does not say which prompt it is for");
console.log("answered");
await end();
