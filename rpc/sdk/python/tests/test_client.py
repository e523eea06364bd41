import asyncio
import socket
import ssl
import threading
import time
import types
import unittest

import vigil
from vigil._servers import Servers
from vigil._sessions import WINDOW, Sessions
from vigil._where import Place
from vigil._wire import Aborted, Scope

from .fake import Fake

TASK = {"id": "7", "room": "web", "role": "builder", "state": "PENDING", "attempt": 0}


def codes(*names):
    """An answer that fails with these codes, one after the other, and then gives a task."""
    left = list(names)
    return lambda body, headers: (503, {"code": left.pop(0), "message": "not now"}) if left else (200, TASK)


class Calls(unittest.TestCase):
    def test_a_write_is_repeated_under_its_number_and_says_so(self):
        with Fake({"POST /v1/rooms/web/tasks": codes("no_leader", "unknown_outcome")}) as f:
            with vigil.Client(f.addr) as c:
                self.assertEqual(c.tasks.create("web", "builder", "x").id, 7)
            sent = [h for k, h, *_ in f.heard if k.endswith("tasks")]
            self.assertEqual([h["Idempotency-Key"] for h in sent], ["17-1"] * 3)
            self.assertEqual([h.get("Vigil-Repeat") for h in sent], [None, "1", "1"])
            self.assertEqual(f.count("DELETE /v1/sessions/17"), 1)

    def test_errors_are_classes_by_code(self):
        def no(body, headers):
            return 409, {"code": "conflict", "message": "somebody was first", "rev": "12"}
        with Fake({"POST /v1/rooms/web/tasks": no}) as f, vigil.Client(f.addr) as c:
            with self.assertRaises(vigil.Conflict) as caught:
                c.tasks.create("web", "builder", "x")
        e = caught.exception
        self.assertEqual((e.code, e.rev, str(e), e.final), ("conflict", 12, "somebody was first", True))
        self.assertIn("Read it again", e.remedy)

    def test_a_code_of_a_newer_server_is_kept(self):
        with Fake({"GET /v1/tasks/7": lambda *_: (409, {"code": "brand_new", "message": "m"})}) as f, \
                vigil.Client(f.addr) as c:
            with self.assertRaises(vigil.VigilError) as caught:
                c.tasks.get(7)
            self.assertEqual(caught.exception.code, "brand_new")

    def test_what_may_not_be_repeated_is_not(self):
        with Fake({"POST /v1/work:beat": codes("no_leader")}) as f, vigil.Client(f.addr) as c:
            with self.assertRaises(vigil.NoLeader):
                c.call("Work.Renew", {"speaker": {"agent": "web/builder"}})
            self.assertEqual(f.count("POST /v1/work:beat"), 1)

    def test_the_timeout_bounds_all_attempts(self):
        with Fake({"GET /v1/status": lambda *_: (503, {"code": "no_leader", "message": "nobody"})}) as f, \
                vigil.Client(f.addr) as c:
            with self.assertRaises(vigil.NoLeader) as caught:
                c.call("Cluster.Status", timeout=1)
            self.assertGreater(f.count("GET /v1/status"), 1)
            self.assertIn("no answer in time", str(caught.exception))

    def test_the_next_server_is_asked_when_one_is_gone(self):
        with Fake({"GET /v1/tasks/7": lambda *_: (200, TASK)}) as f, vigil.Client(["127.0.0.1:1", f.addr]) as c:
            self.assertEqual(c.tasks.get(7).room, "web")

    def test_what_has_little_time_asks_another_server_within_it(self):
        over = threading.Event()

        def silent(*_):
            over.wait(60)  # longer than the call has, unless the test is over

        with Fake({"GET /v1/tasks/7": silent}) as f, Fake({"GET /v1/tasks/7": lambda *_: (200, TASK)}) as g, \
                vigil.Client([f.addr, g.addr]) as c:
            self.assertEqual(c.call("Fleet.GetTask", {"task": 7}, timeout=3)["room"], "web")
            self.assertEqual((f.count("GET /v1/tasks/7"), g.count("GET /v1/tasks/7")), (1, 1))
            over.set()

    def test_what_is_said_once_is_bounded_also_while_servers_take_connections_and_say_nothing(self):
        holes = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]  # their kernel accepts, and nobody else
        place = Place(["127.0.0.1:%d" % h.getsockname()[1] for h in holes], "the test", roots="there")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        place.tls = lambda: types.SimpleNamespace(context=context)
        servers = Servers(place)
        for _ in range(3):
            began = time.monotonic()
            with self.assertRaises(vigil.Unavailable):
                servers.wire(servers.lead, None, began + 0.2)
            self.assertLess(time.monotonic() - began, 5)  # a handshake may take 10 s, of other calls
        self.assertEqual(set(servers._rest), set(place.addrs))  # none was waited for alone
        for h in holes:
            h.close()

    def test_fields_that_a_call_has_not_are_named(self):
        with vigil.Client("127.0.0.1:1") as c:
            with self.assertRaisesRegex(ValueError, "has no field 'rooom'"):
                c.call("Fleet.ListTasks", {"rooom": "web"})
            with self.assertRaisesRegex(ValueError, "no call 'Fleet.Nothing'"):
                c.call("Fleet.Nothing")

    def test_names_in_paths_are_quoted(self):
        with Fake({}) as f, vigil.Client(f.addr) as c:
            with self.assertRaises(vigil.NotFound):
                c.call("Fleet.GetRoom", {"room": "a/../b?x"})
            self.assertEqual(f.heard[-1][3], "/v1/rooms/a%2F..%2Fb%3Fx")

    def test_answers_that_are_none_are_told(self):
        answers = {"GET /v1/status": lambda *_: (200, b"<html>"), "POST /v1/work:beat": lambda *_: (502, b"<html>")}
        with Fake(answers) as f, vigil.Client(f.addr) as c:
            with self.assertRaisesRegex(vigil.Internal, "no JSON"):
                c.call("Cluster.Status")
            with self.assertRaisesRegex(vigil.Unavailable, "502"):
                c.call("Work.Renew", {"speaker": {"agent": "web/builder"}})  # which is not repeated

    def test_a_server_that_speaks_tls_is_told_from_others(self):
        no = b"Client sent an HTTP request to an HTTPS server.\n"
        with Fake({"GET /v1/status": lambda *_: (400, no)}) as f, vigil.Client(f.addr) as c:
            with self.assertRaisesRegex(vigil.AuthDenied, "vigil login"):
                c.call("Cluster.Status")

    def test_a_scope_ends_a_call_from_another_thread(self):
        block = threading.Event()
        with Fake({"POST /v1/mail:wait": lambda *_: (block.wait(20), (200, {"unread": 0}))[1]}) as f, \
                vigil.Client(f.addr) as c:
            scope = Scope()
            threading.Timer(0.2, scope.end).start()
            began = time.monotonic()
            with self.assertRaises(Aborted):
                c.call("Mailbox.WaitMail", {"speaker": {"agent": "web/builder"}}, scope=scope)
            self.assertLess(time.monotonic() - began, 10)
            block.set()

    def test_a_cancelled_coroutine_ends_its_call(self):
        block = threading.Event()

        async def main(addr):
            async with vigil.AsyncClient(addr) as c:
                call = asyncio.ensure_future(c.call("Mailbox.WaitMail", {"speaker": {"agent": "web/builder"}}))
                while not f.heard:
                    await asyncio.sleep(0.01)
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call

        with Fake({"POST /v1/mail:wait": lambda *_: (block.wait(20), (200, {}))[1]}) as f:
            asyncio.run(asyncio.wait_for(main(f.addr), 15))
            block.set()


class Numbers(unittest.TestCase):
    def test_a_window_is_not_exceeded(self):
        opened = []

        def opener():
            opened.append(str(len(opened) + 1))
            return opened[-1]

        s = Sessions()
        tickets = [s.take(opener) for _ in range(WINDOW + 1)]
        self.assertEqual(tickets[-1].key, "2-1")  # the 33rd needs another session
        for t in tickets[1:]:
            s.put(t)
        self.assertEqual({s.take(opener).session.number for _ in range(WINDOW)}, {"2"})  # number 1-1 has no answer yet
        s.put(tickets[0])
        self.assertEqual(s.take(opener).key, f"1-{WINDOW + 1}")

    def test_a_forgotten_session_is_not_used(self):
        numbers = iter("12")
        s = Sessions()
        s.drop(s.take(lambda: next(numbers)))
        self.assertEqual(s.take(lambda: next(numbers)).key, "2-1")


class Results(unittest.TestCase):
    def test_a_title_that_is_taken_from_a_text_is_one_that_servers_take(self):
        texts = {"\n \t\n\x1b[1mdo\tit\x00\r\nsecond": "[1mdo it", "": "builder", "\r\n\t": "builder",
                 "\U0001f600" * 100: "\U0001f600" * 80}
        with Fake({"POST /v1/rooms/web/tasks": lambda *_: (200, TASK)}) as f, vigil.Client(f.addr) as c:
            for text, title in texts.items():
                self.assertEqual(vigil.Handoff("builder", text).title, title)
                c.tasks.create("web", "builder", text)
                self.assertEqual(f.heard[-1][2]["title"], title)

    def test_wait_looks_where_events_may_not_be_read(self):
        states = ["PENDING", "COMPLETED"]
        answers = {"GET /v1/tasks/7": lambda *_: (200, dict(TASK, state=states.pop(0), result='{"ok": true}')),
                   "GET /v1/events": lambda *_: (403, {"code": "denied", "message": "not you"})}
        with Fake(answers) as f, vigil.Client(f.addr) as c:
            self.assertEqual(c.tasks.wait(7, timeout=20).json(), {"ok": True})

    def test_wait_tells_what_failed_and_what_is_late(self):
        answers = {"GET /v1/tasks/7": lambda *_: (200, dict(TASK, state="FAILED", result="no disk")),
                   "GET /v1/tasks/8": lambda *_: (200, dict(TASK, id="8")),
                   "GET /v1/events": lambda *_: (403, {"code": "denied", "message": "not you"})}
        with Fake(answers) as f, vigil.Client(f.addr) as c:
            with self.assertRaisesRegex(vigil.TaskFailed, "FAILED.*no disk"):
                c.tasks.wait(7, timeout=20)
            self.assertEqual(c.tasks.wait(7, timeout=20, check=False).state, "FAILED")
            with self.assertRaises(TimeoutError):
                c.tasks.wait(8, timeout=0.1)

    def test_a_result_that_was_dropped_is_no_empty_one(self):
        answers = {"GET /v1/tasks/7": lambda *_: (200, dict(TASK, state="COMPLETED", result_dropped="12")),
                   "POST /v1/rooms/web/tasks": lambda *_: (200, TASK),
                   "GET /v1/events": lambda *_: (403, {"code": "denied", "message": "not you"})}
        with Fake(answers) as f, vigil.Client(f.addr) as c:
            with self.assertRaisesRegex(vigil.ResultLost, "12 bytes went"):
                c.tasks.wait(7)
            with self.assertRaises(vigil.ResultLost) as caught:
                list(c.tasks.map("web", "builder", ["x"]))
            self.assertEqual((caught.exception.task.id, caught.exception.task.lost), (7, True))
            self.assertTrue(c.tasks.wait(7, check=False).done)
            self.assertFalse(vigil.Task(dict(TASK, state="COMPLETED")).lost)
