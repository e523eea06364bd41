// What the scripts of this folder share: a browser, and a page whose every fault is noted.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";
import { chromium } from "playwright-core";
import axe from "axe-core";

const types = { ".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml" };

/** serve gives the page of a folder of assets; api tells whether it answers a request. */
export async function serve(assets, api = () => false) {
  const server = createServer((req, res) => {
    if (api(req, res)) return;
    const name = basename(new URL(req.url, "http://x").pathname) || "index.html";
    try {
      const text = readFileSync(join(assets, name));
      res.writeHead(200, { "content-type": types[extname(name)] ?? "text/plain" }).end(text);
    } catch {
      res.writeHead(404).end();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, link: `http://127.0.0.1:${server.address().port}/` };
}

/** loseAnswer lets the answer to the next request of a path be lost; what was asked for is done. */
export const loseAnswer = (page, path) =>
  page.route(
    path,
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );

/** open gives a page of a browser; link is where it will be, more what its context has beside. */
export async function open(link, viewport, more = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ignoreHTTPSErrors: true, ...more });
  const page = await context.newPage();
  const faults = [],
    fault = (text) => faults.push(text);
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (e) => fault(`the page threw ${e.message}`));
  page.on("dialog", (d) => (fault(`a dialog says ${d.message()}`), d.dismiss()));
  page.on(
    "console",
    (m) => /Content Security|Trusted|Refused/.test(m.text()) && fault(`the browser says ${m.text()}`),
  );
  page.on(
    "request",
    (r) => new URL(r.url()).host !== new URL(link).host && fault(`something was asked of ${r.url()}`),
  );

  /** audit has axe-core look at what is shown. */
  const audit = async (name, schemes) => {
    for (const scheme of schemes) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.evaluate(axe.source);
      const found = await page.evaluate(() => globalThis.axe.run());
      for (const v of found.violations) {
        fault(
          `${name}, ${scheme}: ${v.id}: ${v.nodes
            .map((n) => n.target.join(" ") + " " + n.failureSummary.split("\n").at(-1))
            .slice(0, 3)
            .join("; ")}`,
        );
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
  };

  /** end says what was wrong, and ends the program accordingly. */
  const end = async () => {
    await browser.close();
    for (const f of new Set(faults)) console.log(`fault: ${f}`);
    console.log("done");
    process.exit(faults.length > 0 ? 1 : 0);
  };
  return { browser, page, fault, audit, end };
}
