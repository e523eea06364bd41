// Lifts two budgets in the inbox, one by mouse on a phone and one by keyboard, and a third in the view of its room:
// lift.mjs LINK FOLDER ROLE ROLE ROLE.
import { open } from "./browser.mjs";

const [link, folder, one, two, three] = process.argv.slice(2);
const { page, fault, audit, end } = await open(link, { width: 390, height: 844 });
const lifted = page.getByText("It goes on beyond its budget.").first();
await page.goto(link);
await page.locator("#state.good").waitFor();
await page.evaluate(() => (location.hash = "/inbox"));
await page.locator(".items a", { hasText: one }).click();
await page.locator("#detail").getByRole("button", { name: "Lift the budget" }).click();
await page.locator(".sure", { hasText: "go on beyond the budget for 25 hours" }).waitFor();
await audit("a budget that is to be lifted", ["light", "dark"]);
await page.screenshot({ path: `${folder}/lift-390.png` });
await page.locator(".sure").getByRole("button", { name: "No" }).click();
await page.locator("#detail").getByRole("button", { name: "Lift the budget" }).click();
await page.locator(".sure").getByRole("button", { name: "Lift the budget" }).click();
await lifted.waitFor();
console.log("lifted by mouse");

await page.setViewportSize({ width: 1280, height: 860 });
await page.waitForFunction(() => !document.querySelector(".said p"));
await page.evaluate(() => (location.hash = "/inbox"));
await page.locator(".items a", { hasText: two }).waitFor();
for (let i = 0; i < 20 && !(await page.locator(".items a[aria-current=true]", { hasText: two }).count()); i++) {
  await page.keyboard.press("j");
  await page.waitForTimeout(200);
}
await page.locator("#detail").getByRole("button", { name: "Lift the budget" }).waitFor();
await page.keyboard.press("l");
await page.locator(".sure").waitFor();
await page.keyboard.press("Escape");
await page.locator(".sure").waitFor({ state: "detached" });
await page.keyboard.press("l");
await page.locator(".sure").getByRole("button", { name: "Lift the budget" }).and(page.locator(":focus")).waitFor();
await page.keyboard.press("Enter");
await lifted.waitFor();
console.log("lifted by keyboard");

await page.waitForFunction(() => !document.querySelector(".said p"));
await page.evaluate((room) => (location.hash = `/room/${room}`), three.split("/")[0]);
await page.getByText("used up: nothing new begins").waitFor();
await page.getByRole("button", { name: "Lift the budget" }).focus();
await page.keyboard.press("Enter");
await page.locator(".sure", { hasText: `${three} goes on beyond its budget for 25 hours` }).waitFor();
await page.keyboard.press("Enter");
await lifted.waitFor();
await page.getByText(/^lifted by .* for /).waitFor();
console.log("lifted in the view of its room");
if (await page.evaluate(() => window.hacked)) fault("words of an agent were run");
await end();
