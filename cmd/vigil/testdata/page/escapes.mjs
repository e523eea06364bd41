// A screen full of escapes: escapes.mjs LINK FOLDER AGENT. Nothing of it leaves the terminal's widget.
import { open } from "./browser.mjs";

const [link, folder, agent] = process.argv.slice(2);
const { page, fault, end } = await open(link, { width: 1280, height: 860 });
const at = async (tab) => {
  await page.evaluate((p) => (location.hash = p), `/agent/${agent}?tab=${tab}`);
};
const rows = page.locator(".pane .xterm-rows");

page.on("popup", (p) => fault(`a window of ${p.url()} was opened`));
let typed = 0;
// A call without keys only tells the size of the browser's terminal.
page.on("request", (r) => (typed += r.url().endsWith(":type") && JSON.parse(r.postData()).keys ? 1 : 0));
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
await page.addInitScript(() => {
  globalThis.rung = 0;
  for (const name of ["Notification", "Audio", "AudioContext"]) {
    globalThis[name] = class {
      static permission = "granted";
      constructor() {
        globalThis.rung++;
      }
    };
  }
});
await page.goto(link);
await page.locator("#state.good").waitFor();
await page.evaluate(() => navigator.clipboard.writeText("mine"));

/** state is all of the browser that a terminal could reach and must not. */
const state = () =>
  page.evaluate(async () => ({
    title: document.title.replace(/^\(\d+\) /, ""),
    local: JSON.stringify(Object.entries(localStorage).sort()),
    session: JSON.stringify(Object.entries(sessionStorage)),
    cookie: document.cookie,
    clipboard: await navigator.clipboard.readText(),
    place: location.pathname + location.hash.split("?")[0],
    rung: globalThis.rung,
    hacked: globalThis.hacked,
    markup: document.querySelectorAll(".pane a, .pane img, .pane script, .pane b, .pane iframe, .pane canvas.sixel").length,
    outside: document.body.innerText.includes("pwned") && !document.querySelector(".pane").innerText.includes("pwned"),
  }));

await at("events");
await page.locator(".tabs").waitFor();
const before = await state();
if (before.clipboard !== "mine") fault("the clipboard cannot be looked at");
const same = async (what) => {
  await page.waitForTimeout(1000);
  const after = await state();
  for (const key of Object.keys(before)) {
    if (after[key] !== before[key]) fault(`${what}: ${key} is ${after[key]}, was ${before[key]}`);
  }
  console.log(`looked at: ${what}`);
};

for (const tab of ["screen", "output"]) {
  await at(tab);
  await rows.getByText("plain words").first().waitFor();
  await page.locator(".pane").click({ force: true });
  await rows.getByText("a link").first().click({ force: true });
  await same(tab);
  await page.screenshot({ path: `${folder}/escapes-${tab}-1280.png` });
}

// A host that sends more than tmux does: questions, whose answers would be typed, modes that make keys of clicks.
const hostile =
  "\x1b]0;pwned\x07\x1b]2;pwned\x1b\\\x1b[c\x1b[>c\x1b[=c\x1b[6n\x1b[?6n\x1b[5n\x1b[?1$p\x1b[18t\x1b[21t\x1b[?u\x1b[>q" +
  "\x1b]10;?\x07\x1b]11;?\x07\x1b]4;1;?\x07\x1b]52;c;cHduZWQ=\x07\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x9bc\x9b6n\x90$qm\x9c\x05" +
  "\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1004h\x1b[?1006h\x1b[?2004h\x1b[?9001h\x1b[20h\x1b#8\x1bc" +
  "\x1b]8;;https://example.com/\x1b\\a link\x1b]8;;\x1b\\ \x1b[1mhostile words\x1b[0m";
await page.route("**/screen/follow*", (route) =>
  route.fulfill({
    contentType: "application/json",
    body: JSON.stringify({
      result: { text: hostile, columns: 120, rows: 10, cursor_x: 3, cursor_y: 2, incarnation: "1", host: "h2" },
    }) + "\n",
  }),
);
await at("screen");
await rows.getByText("hostile words").first().waitFor();
await page.keyboard.press("w");
await page.locator(".turn").getByText("What you type goes to").waitFor();
await page.locator(".pane").click({ force: true });
await page.mouse.move(300, 500);
await page.mouse.wheel(0, 100);
await page.locator(".pane").blur();
await page.locator(".xterm-helper-textarea").focus();
await same("a hostile host");
if (typed > 0) fault(`${typed} calls typed what nobody had pressed`);
await page.keyboard.type("k");
await page.waitForTimeout(1000);
if (typed !== 1) fault(`one key was typed by ${typed} calls`);
await page.getByRole("button", { name: "Give back" }).click();
await end();
