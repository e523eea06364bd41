import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "../dist/contexts.js";
import { find, splitAddr, trustOf } from "../dist/where.js";

const home = mkdtempSync(join(tmpdir(), "vigil-where-"));
after(() => rmSync(home, { recursive: true }));
mkdirSync(join(home, "vigil"));
writeFileSync(
  join(home, "vigil", "contexts.yaml"),
  `# by vigil
selected: dev
contexts:
  dev:
    servers:
    - 127.0.0.1:1
    - "127.0.0.1:2"
    identity: /home/anna/it's here
  prod:
    servers: [10.0.0.1:7420, 10.0.0.2:7420]
`,
);
const env = { XDG_CONFIG_HOME: home };

test("addrs > context > VIGIL_SOCKET > VIGIL_ADDR > VIGIL_CONTEXT > selected > default", () => {
  const all = { ...env, VIGIL_SOCKET: "/run/s", VIGIL_ADDR: "a:1,b:2", VIGIL_CONTEXT: "prod" };
  const { VIGIL_SOCKET: _1, ...addr } = all;
  const { VIGIL_ADDR: _2, ...context } = addr;
  for (const [place, from, source, addrs] of [
    [{ addrs: "c:3" }, all, "addrs", ["c:3"]],
    [{ context: "dev" }, all, "context dev", ["127.0.0.1:1", "127.0.0.1:2"]],
    [{}, all, "VIGIL_SOCKET", ["unix:/run/s"]],
    [{}, addr, "VIGIL_ADDR", ["a:1", "b:2"]],
    [{}, context, "context prod", ["10.0.0.1:7420", "10.0.0.2:7420"]],
    [{}, env, "context dev", ["127.0.0.1:1", "127.0.0.1:2"]],
    [{}, {}, "nothing else was said", ["127.0.0.1:7420"]],
  ]) {
    const found = find(place, from);
    assert.deepEqual([found.source, [...found.addrs]], [source, addrs]);
  }
});

test("who asks is of the context, of VIGIL_IDENTITY, or of the context that the servers are of", () => {
  assert.equal(find({}, env).identity, "/home/anna/it's here");
  assert.equal(find({ addrs: "127.0.0.1:2" }, env).identity, "/home/anna/it's here");
  assert.equal(find({ addrs: "127.0.0.1:3" }, env).identity, "");
  assert.equal(find({ addrs: "127.0.0.1:3" }, { ...env, VIGIL_IDENTITY: "/me" }).identity, "/me");
});

test("what is wrong is named with its place and its remedy", () => {
  for (const [place, from, says] of [
    [{ addrs: "a", context: "dev" }, env, /give addrs or context, not both/],
    [{ addrs: "localhost" }, env, /"localhost": write host:port/],
    [{ addrs: "a:0" }, env, /write host:port/],
    [{ addrs: ["unix:/s", "a:1"] }, env, /a socket is named alone/],
    [{ context: "test" }, env, /there is no context "test" in .*contexts.yaml: `vigil context list`/],
  ]) {
    assert.throws(
      () => find(place, from),
      (e) => e.code === "invalid" && says.test(e.message),
    );
  }
  assert.throws(() => trustOf(find({ addrs: "a:1", token: "t" }, {})), /an API token needs TLS/);
  assert.throws(
    () => trustOf(find({ addrs: "a:1", identity: "/nowhere" }, {})),
    /log in again with `vigil login/,
  );
});

test("the file of contexts is read as vigil writes it", () => {
  const all = parse(
    'contexts:\n  \'a b\':\n    servers: []\n    demo: /x # mine\n  c:\n    identity: "/q\\"q"\nselected: c\n',
    "f",
  );
  assert.equal(all.selected, "c");
  assert.deepEqual(
    [...all.contexts],
    [
      ["a b", { servers: [], identity: "" }],
      ["c", { servers: [], identity: '/q"q' }],
    ],
  );
  for (const bad of [
    "contexts:\n\ta: b",
    "contexts:\n  - a",
    "contexts:\n  a:\n    identity: 'x",
    "nonsense",
  ]) {
    assert.throws(() => parse(bad, "f"), /^Invalid: f:[0-9]+: this cannot be read/);
  }
});

test("an address is a host and a port", () => {
  assert.deepEqual(splitAddr("[::1]:80"), { host: "::1", port: 80 });
  for (const bad of ["a", "a:", ":1", "a:70000", "a b:1", "a/b:1", "::1:80"])
    assert.equal(splitAddr(bad), undefined);
});
