// Drives what people write on the page against what the API would say: forms.mjs ASSETS FOLDER. What is sent is what
// the form shows, for whom the link says, and once, also where its answer is lost.
import { open, serve } from "./browser.mjs";

const [assets, folder] = process.argv.slice(2);
const { server, link } = await serve(assets);
const { page, fault, audit, end } = await open(link, { width: 1280, height: 860 });

const role = (name, more) => ({ spec: { name }, tasks: {}, ...more });
const room = (i) => ({ name: `r${i}`, roles: [role("a"), role("b")] });
// More than an answer has at most; with one role that takes no tasks any more.
let rooms = Array.from({ length: 1001 }, (_, i) => room(1000 + i));
rooms.push({ name: "zoo", roles: [role("keeper"), role("old", { retired: true })] });

/** sent is what the page has written: path and body; the answer to the next one to the path in lost is lost. */
const sent = [];
let lost = "",
  sessions = 0;
/** answers are what the API says, by method and path. */
const answers = {
  "GET /v1/overview": () => ({ verdicts: {}, inbox: {}, hosts: {}, tasks: [], servers: [] }),
  "GET /v1/rooms": ({ limit, after }) => {
    const first = rooms.findIndex((r) => r.name > after),
      list = rooms.slice(first, first + limit);
    return { rooms: list, ...(first + limit < rooms.length && { more: true, next: list.at(-1).name }) };
  },
  "POST /v1/sessions": () => ({ session: String(++sessions) }),
  "POST /v1/rooms/r1001/tasks": () => ({ id: "7" }),
  "POST /room-file": () => ({ rooms: [{ room: "yard", roles: [{ name: "a" }] }] }),
  "PUT /v1/rooms/yard": () => ({ ...yard, name: "yard", roles: [] }),
  "POST /v1/mail": () => ({ mails: ["1"], thread: "1" }),
};
await page.route(/\/(v1\/|room-file$)/, async (route) => {
  const request = route.request(),
    url = new URL(request.url()),
    body = request.postDataJSON();
  if (request.method() !== "GET") sent.push({ path: url.pathname, body });
  if (lost === url.pathname) {
    lost = "";
    return route.abort();
  }
  const answer = answers[`${request.method()} ${url.pathname}`];
  if (!answer) return route.fulfill({ status: 503, json: { code: "unavailable", message: "x" } });
  const q = Object.fromEntries(url.searchParams);
  const json = answer({ ...q, body, after: q.after ?? "", limit: Number(q.limit) || 100 });
  await route.fulfill({ status: json.status ?? 200, json });
});
await page.goto(link);

const at = (path) => page.evaluate((p) => (location.hash = p), path);
let n = 0;
const done = (what) => console.log(`${++n}. ${what}`);
/** is fails where two values differ. */
const is = (what, got, want) => {
  const [is, so] = [got, want].map((v) => JSON.stringify(v));
  if (is !== so) fault(`${what}: ${is}, want ${so}`);
};

/** shown takes a picture in both sizes and lets axe-core look. */
async function shown(name) {
  for (const [width, height] of [
    [390, 844],
    [1280, 860],
  ]) {
    await page.setViewportSize({ width, height });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) fault(`${name} is ${over} pixels too wide at ${width}`);
    await page.screenshot({ path: `${folder}/${name}-${width}.png` });
  }
  await audit(name, ["light"]);
}

// A task is for the role of the link, also behind the first page of rooms, whatever was typed for another one.
const to = page.getByLabel("For"),
  title = page.getByLabel("Title"),
  create = page.getByRole("button", { name: "Create the task" });
const chosen = (role) => page.waitForFunction((r) => document.querySelector("main select")?.value === r, role);
await at("/new-task?to=zoo/keeper");
await chosen("zoo/keeper");
await title.fill("for another one");
await page.getByLabel("Text").fill("words for another one");
await page.getByLabel("Priority").fill("7");
await to.selectOption("r1000/b");
await page.reload();
await chosen("r1000/b");
is("the title after a reload", await title.inputValue(), "for another one");
await at("/new-task?to=r1001/b");
await chosen("r1001/b");
const typed = async () => [await title.inputValue(), await page.getByLabel("Priority").inputValue()];
is("what was typed for another role", await typed(), ["", "0"]);
await title.fill("first");
await page.getByLabel("Priority").fill("9");
await create.click();
await page.waitForFunction(() => location.hash === "#/task/7");
const task = sent.find((s) => s.path === "/v1/rooms/r1001/tasks").body;
is("the task", [task.role, task.title, task.text, task.priority], ["b", "first", "", 9]);
await at("/new-task?to=r1001/b");
await chosen("r1001/b");
is("the next one", await typed(), ["", "0"]);
done("a task is for the role of its link");

// Nobody takes the place of a role that takes no tasks.
rooms = [room(1001), rooms.at(-1)];
await page.reload();
for (const gone of ["zoo/old", "gone/a"]) {
  await at(`/new-task?to=${gone}`);
  await page.getByText(`${gone} takes no tasks`).waitFor();
  await title.fill("for nobody");
  is(`a task for ${gone} can be created`, await create.isEnabled(), false);
}
await shown("no-role");
await to.selectOption("zoo/keeper");
await page.getByText("takes no tasks").waitFor({ state: "detached" });
is("a task for who was chosen can be created", await create.isEnabled(), true);
await at("/new-task");
await page.getByText("Choose a role").waitFor({ state: "attached" });
await chosen("");
await title.fill("for nobody");
is("a task for nobody can be created", await create.isEnabled(), false);
await shown("choose-role");
done("a role that takes no tasks is told, and no other one takes its place");

// What was sent and not answered is sent again under its number, also after a reload; what differs is something else.
const tasks = "/v1/rooms/r1001/tasks",
  unanswered = page.getByText("The server of this page does not answer."),
  made = () => page.waitForFunction(() => location.hash === "#/task/7");
/** ids are the numbers under which something was sent to a path. */
const ids = (path) => sent.filter((s) => s.path === path).map((s) => s.body.id);
/** again gives the form of a task anew. */
const again = async () => {
  await at("/new-task?to=r1001/a");
  await chosen("r1001/a");
};
sent.length = sessions = 0;
await again();
await title.fill("once");
lost = tasks;
await create.click();
await unanswered.waitFor();
await page.reload();
await create.click();
await made();
const number = (session) => ({ session, seq: "1" });
is("a task whose answer was lost", ids(tasks), [number("1"), number("1")]);
await again();
await title.fill("once");
await create.click();
await made();
is("the same task once more", ids(tasks).at(-1), number("2"));
await again();
await title.fill("this");
lost = tasks;
await create.click();
await unanswered.waitFor();
await title.fill("no, that");
await create.click();
await made();
is("another task", ids(tasks).slice(-2), [number("3"), number("4")]);
done("a task is created once");

await at("/new-mail?to=r1001/a");
await page.getByLabel("Subject").fill("Lunch");
await page.getByLabel("Mail to").fill("at noon?");
lost = "/v1/mail";
await page.getByRole("button", { name: "Send" }).click();
await unanswered.last().waitFor();
await page.getByRole("button", { name: "Send" }).click();
await page.waitForFunction(() => location.hash === "#/room/r1001");
is("a mail whose answer was lost", ids("/v1/mail"), [number("5"), number("5")]);
done("a mail is sent once");

// Where servers know no longer what has come of it, a person has to look, and may send it again.
await again();
await title.fill("late");
lost = tasks;
await create.click();
await unanswered.last().waitFor();
answers[`POST ${tasks}`] = () => ({ status: 409, code: "unknown_session", message: "the session has ended" });
await create.click();
await page.getByText("Look, and send it again if it was not.").waitFor();
answers[`POST ${tasks}`] = () => ({ id: "7" });
await create.click();
await made();
is("a task of an ended session", ids(tasks).slice(-3), [number("6"), number("6"), number("7")]);
done("what servers have forgotten is told");

// A room file is applied as it was looked at: somebody else's room stays, and agents that have begun to work go on.
const plan = (more) => ({ roles: [], changes: ["x"], warnings: [], at_work: 0, canceled: 0, created: false, ...more });
let yard = { plan: plan({ created: true }) };
/** applied are the changes that were asked for, without the looks; a room has a revision by then. */
const applied = () =>
  sent.filter((s) => s.path === "/v1/rooms/yard" && !s.body.dry_run).map((s) => [s.body.gentle, s.body.if_rev]);
const looked = async (words) => {
  await at("/apply");
  await page.getByLabel("As for vigil apply").fill("room: yard");
  await page.getByRole("button", { name: "Show what it does" }).click();
  await page.locator("#plan", { hasText: words }).waitFor();
};
const apply = page.getByRole("button", { name: /^Apply it/ });
await looked("is created");
yard = { plan: plan(), rev: "5" };
await apply.click();
await page.getByText("Nothing was changed. Room yard was created meanwhile").waitFor();
await page.locator("#plan").waitFor({ state: "detached" });
is("what was done to somebody else's room", applied(), []);
await shown("created-meanwhile");
await looked("changes");
await apply.click();
await page.waitForFunction(() => location.hash === "#/room/yard");
is("a change without harm", applied(), [[true, "5"]]);
yard = { plan: plan({ at_work: 1 }), rev: "6" };
await looked("changes");
await apply.click();
await page.waitForFunction(() => location.hash === "#/room/yard");
is("a change that was told to do harm", applied().at(-1), [false, "6"]);
yard = { plan: plan({ created: true }) };
await looked("is created");
await apply.click();
await page.waitForFunction(() => location.hash === "#/room/yard");
is("a new room", applied().at(-1), [true, null]);
done("a room that was created meanwhile is left alone");

server.close();
server.closeAllConnections();
await end();
