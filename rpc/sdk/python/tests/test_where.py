import os
import tempfile
import unittest

from vigil._where import find
from vigil._who import parse_incarnation, who

CONTEXTS = """\
selected: dev
contexts:
  dev:
    servers:
    - 127.0.0.1:1
    - 127.0.0.1:2
    identity: /home/x/it's here
  "2":
    servers: [10.0.0.1:7420, '10.0.0.2:7420']
    demo: /tmp/x
"""


class Where(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        os.makedirs(os.path.join(self.home.name, "vigil"))
        with open(os.path.join(self.home.name, "vigil", "contexts.yaml"), "w") as f:
            f.write(CONTEXTS)
        self.env = {"XDG_CONFIG_HOME": self.home.name}
        self.addCleanup(self.home.cleanup)

    def find(self, *args, env=(), **more):
        return find(*args, env=dict(self.env, **dict(env)), **more)

    def test_precedence_is_that_of_the_command_line(self):
        env = {"VIGIL_SOCKET": "/run/s", "VIGIL_ADDR": "h:1", "VIGIL_CONTEXT": "2"}
        self.assertEqual(self.find("a:1", env=env).addrs, ["a:1"])
        self.assertEqual(self.find(context="dev", env=env).addrs, ["127.0.0.1:1", "127.0.0.1:2"])
        self.assertEqual(self.find(env=env).addrs, ["unix:/run/s"])
        del env["VIGIL_SOCKET"]
        self.assertEqual(self.find(env=env).addrs, ["h:1"])
        del env["VIGIL_ADDR"]
        self.assertEqual(self.find(env=env).addrs, ["10.0.0.1:7420", "10.0.0.2:7420"])
        place = self.find()
        self.assertEqual((place.addrs, place.identity, place.source),
                         (["127.0.0.1:1", "127.0.0.1:2"], "/home/x/it's here", "context dev"))
        self.assertEqual(find(env={}).addrs, ["127.0.0.1:7420"])

    def test_who_asks_is_found_by_the_servers(self):
        self.assertEqual(self.find("127.0.0.1:2").identity, "/home/x/it's here")
        self.assertEqual(self.find("127.0.0.1:3").identity, "")
        self.assertEqual(self.find("127.0.0.1:2", env={"VIGIL_IDENTITY": "/other"}).identity, "/other")

    def test_mistakes_name_their_place_and_remedy(self):
        for text, call in [("no context 'x'.*vigil context set x", lambda: self.find(context="x")),
                           ("addr: address '7420'.*host:port", lambda: self.find("7420")),
                           ("VIGIL_ADDR: address 'a:b'", lambda: self.find(env={"VIGIL_ADDR": "a:b"})),
                           ("addr or context", lambda: self.find("a:1", context="dev"))]:
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_a_token_goes_over_tls_only(self):
        with self.assertRaisesRegex(ValueError, "needs TLS"):
            self.find("a:1", token="secret").tls()


class Agents(unittest.TestCase):
    def test_a_worker_is_the_agent_of_its_life(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("secret\n")
            f.flush()
            env = {"VIGIL_AGENT": "web/builder.2", "VIGIL_INCARNATION": "1.3", "VIGIL_TOKEN_FILE": f.name}
            me = who("web/builder", env)
        self.assertEqual((me.agent, me.incarnation, me.token), ("web/builder.2", 1 << 32 | 3, "secret"))

    def test_by_hand_it_is_the_first_free_one(self):
        self.assertEqual(who("web/builder", {}).agent, "web/builder.*")
        self.assertEqual(who("web/builder.2", {}).agent, "web/builder.2")
        self.assertEqual(who("web/builder", {"VIGIL_AGENT": "web/builder.3"}).agent, "web/builder.3")

    def test_the_life_of_another_role_is_refused(self):
        env = {"VIGIL_AGENT": "web/other", "VIGIL_INCARNATION": "1", "VIGIL_SOCKET": "/run/s"}
        for role, text in [("web/builder", "life of web/other"), ("builder", "name it as room/role")]:
            with self.assertRaisesRegex(ValueError, text):
                who(role, env)
        with self.assertRaisesRegex(ValueError, "VIGIL_INCARNATION"):
            parse_incarnation("x")
