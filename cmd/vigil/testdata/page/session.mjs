// A session that ends: session.mjs LINK FOLDER SECONDS. A browser that asks nothing for so long is signed out.
import { open } from "./browser.mjs";

const [link, folder, seconds] = process.argv.slice(2);
const { page, fault, audit, end } = await open(link, { width: 390, height: 844 });
await page.goto(link);
await page.locator("#state.good").waitFor();
await page.evaluate(() => (location.hash = "/tasks"));
await page.locator("h1", { hasText: "Tasks" }).waitFor();
const asked = async () => page.evaluate(async (h) => (await fetch("v1/rooms", { headers: h })).status, {
  "Vigil-Page": await page.evaluate(() => localStorage.getItem("vigil-page")),
});
if ((await asked()) !== 200) fault("the session is not one at its beginning");

// Whoever comes back to a page that has been away for that long is told at once.
const place = page.url();
await page.goto("about:blank");
await page.waitForTimeout(1000 * Number(seconds) + 2000);
await page.goto(place);
await page.getByRole("heading", { name: "You are signed out" }).waitFor();
if ((await asked()) !== 401) fault("a session that has ended is answered");
if (await page.locator("nav").count()) fault("a page that is signed out has a menu");
await audit("a page that is signed out", ["light", "dark"]);
await page.screenshot({ path: `${folder}/out-390.png` });

// The link was for one time.
await page.goto("about:blank");
await page.goto(link);
await page.getByRole("heading", { name: "You are signed out" }).waitFor();
if ((await asked()) !== 401) fault("a link signs in twice");
console.log("signed out");
await end();
