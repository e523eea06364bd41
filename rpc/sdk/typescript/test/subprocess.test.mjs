import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CommandFailed } from "../dist/index.js";
import { Job } from "../dist/job.js";

const life = { agent: "web/builder", incarnation: "1" };
const job = () =>
  new Job(life, { id: "1", room: "web", role: "builder", state: "IN_PROGRESS", text: '{"n":2}' }, 1);

/** Whether a process runs; one that has ended and is not waited for does not. */
function runs(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("a command gives what it printed, and its failure says so", async () => {
  const j = job();
  assert.deepEqual(await j.run("cat", [], { input: "hello" }), {
    code: 0,
    signal: null,
    stdout: "hello",
    stderr: "",
  });
  await assert.rejects(
    j.run("sh", ["-c", "echo no >&2; exit 3"]),
    (e) => e instanceof CommandFailed && e.message === "sh has ended with 3: no" && e.ran.code === 3,
  );
  assert.equal((await j.run("sh", ["-c", "exit 3"], { check: false })).code, 3);
  await assert.rejects(j.run("/no/such/program"), { code: "ENOENT" });
  await assert.rejects(j.run("sleep", ["60"], { timeout: 0.1 }), /was ended after 0.1 s/);
  assert.deepEqual(j.json(), { n: 2 });
});

test(
  "a command is over when it has ended, though what it left running holds its output",
  { skip: process.platform === "win32", timeout: 60_000 },
  async () => {
    const left = await job().run("sh", ["-c", "sleep 300 & echo $!"]);
    const inner = Number(left.stdout);
    assert.ok(inner > 1);
    process.kill(inner, "SIGKILL"); // it ran on, as the command wanted
  },
);

test(
  "what a command leaves in its group when it obeys SIGTERM is killed",
  { skip: process.platform !== "linux", timeout: 60_000 },
  async () => {
    const j = job();
    const inner = `sh -c 'trap "" TERM; echo $$; exec sleep 300'`;
    const child = j.spawn("sh", ["-c", `${inner} & exec sleep 300`], {
      stdio: ["ignore", "pipe", "inherit"],
      grace: 50,
    });
    const pid = Number(await new Promise((resolve) => child.stdout.once("data", (d) => resolve(d.toString()))));
    assert.ok(runs(pid));
    j.cancel();
    await j.tidy();
    for (let i = 0; runs(pid) && i < 500; i++) await new Promise((r) => setTimeout(r, 10));
    assert.equal(runs(pid), false);
  },
);

test(
  "what a command has started ends with it when nobody wants the result, by SIGKILL when it must",
  { skip: process.platform !== "linux" },
  async () => {
    const j = job();
    const child = j.spawn("sh", ["-c", "trap '' TERM; sleep 60 & echo $!; wait; wait"], {
      stdio: ["ignore", "pipe", "inherit"],
      grace: 0.2,
    });
    const [line] = await new Promise((resolve) => child.stdout.once("data", (d) => resolve([d.toString()])));
    const inner = Number(line);
    assert.ok(runs(inner));
    j.cancel();
    await j.tidy();
    assert.ok(j.signal.aborted);
    assert.equal(child.signalCode, "SIGKILL");
    for (let i = 0; runs(inner) && i < 500; i++) await new Promise((r) => setTimeout(r, 10));
    assert.equal(runs(inner), false);
    await assert.rejects(j.run("true"), { code: "superseded" });
  },
);
