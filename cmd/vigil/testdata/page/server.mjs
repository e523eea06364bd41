// The page of a server on a phone, whose server is killed: server.mjs LINK FOLDER.
import { createInterface } from "node:readline";
import { once } from "node:events";
import { open } from "./browser.mjs";

const [link, folder] = process.argv.slice(2);
const input = createInterface({ input: process.stdin });
const { page, fault, audit, end } = await open(link, { width: 390, height: 844 });
await page.goto(link);
await page.locator("#state.good").waitFor();
if (page.url().includes("code=")) fault("the code stays in the address");
await page.locator("#agents").getByText("idle").first().waitFor();
await page.evaluate(() => (location.hash = "/new-task?to=demo/words"));
await page.getByLabel("Title").fill("from a phone");
await page.getByLabel("Text").fill("address.txt");
await page.getByRole("button", { name: "Create the task" }).click();
await page.locator(".title", { hasText: "from a phone" }).waitFor();
await page.getByText("by user/").waitFor();
console.log("a task was created in the person's name");
console.log("please: kill");
const killed = Date.now();
await once(input, "line");
await page.locator("#stale").waitFor();
if (Date.now() - killed > 4000) fault(`what is shown counts as old after ${Date.now() - killed} ms`);
await page.locator("#others a").nth(1).waitFor();
await audit("a page whose server is lost", ["light", "dark"]);
await page.screenshot({ path: `${folder}/lost-390.png` });
console.log("the others are linked to");
await end();
