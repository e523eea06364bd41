import asyncio
import os
import threading
import time
import unittest
import warnings
from unittest import mock

import vigil
from vigil import _trial
from vigil._wire import Scope

from .fake import Fake

TASK = {"id": "7", "room": "web", "role": "builder", "state": "PENDING", "attempt": 0}
PATIENCE = 60  # s


def event(seq, kind="task.completed"):
    return f'id: {seq}\nevent: {kind}\ndata: {{"seq": "{seq}", "kind": "{kind}", "task": "7"}}\n\n'


class Streams(unittest.TestCase):
    def test_a_stream_that_was_quiet_for_long_may_break(self):
        streams = []

        def stream(send):
            streams.append(None)
            if len(streams) == 1:
                time.sleep(0.5)  # longer than calls are repeated
            else:
                send(": nothing yet\n\n" + event(9))
        with Fake({"GET /v1/events": lambda *_: stream}) as f, vigil.Client(f.addr, retry_for=0.3) as c:
            self.assertEqual(next(c.events("web"))["seq"], "9")
        self.assertEqual(len(streams), 2)

    def test_a_certificate_that_was_renewed_is_taken_up_by_a_stream(self):
        old = [(401, {"code": "auth_expired", "message": "it is too old"})]
        with Fake({"GET /v1/events": lambda *_: old.pop() if old else lambda send: send(event(9))}) as f, \
                vigil.Client(f.addr) as c, mock.patch("vigil._servers.Servers.secure", True), \
                mock.patch.object(c._servers, "redial") as redial:
            self.assertEqual(next(c.events("web", since=8))["seq"], "9")
            redial.assert_called_once()
        self.assertEqual([path.rpartition("after=")[2] for *_, path in f.heard], ["8", "8"])

    def test_a_server_that_says_nothing_any_more_is_left(self):
        streams, over = [], threading.Event()

        def stream(send):
            streams.append(None)
            if len(streams) == 1:
                over.wait(PATIENCE)  # frozen, and its connection is there
            send(event(9 if len(streams) > 1 else 1))
        with Fake({"GET /v1/events": lambda *_: stream}) as f, vigil.Client(f.addr) as c, \
                mock.patch("vigil._client.QUIET", 0.3):
            try:
                self.assertEqual(next(c.events("web"))["seq"], "9")
            finally:
                over.set()

    def test_streams_that_do_not_begin_are_not_tried_for_ever(self):
        with Fake({"GET /v1/events": lambda *_: (503, {"code": "no_leader", "message": "nobody"})}) as f, \
                vigil.Client(f.addr, retry_for=0.3) as c, self.assertRaises(vigil.NoLeader):
            next(c.events("web"))


class Waits(unittest.TestCase):
    def test_what_happens_between_two_streams_is_seen(self):
        state, streams, over = ["PENDING"], [], threading.Event()

        def stream(send):
            streams.append(None)
            if len(streams) == 1:
                while f.count("GET /v1/tasks/7") == 0:  # the first look
                    time.sleep(0.01)
                state[0] = "COMPLETED"
            else:
                over.wait(PATIENCE)

        async def main():
            async with vigil.AsyncClient(f.addr) as c:
                self.assertTrue((await asyncio.wait_for(c.tasks.wait(7), PATIENCE / 2)).done)
        with Fake({"GET /v1/events": lambda *_: stream,
                   "GET /v1/tasks/7": lambda *_: (200, dict(TASK, state=state[0]))}) as f:
            try:
                asyncio.run(main())
            finally:
                over.set()
        self.assertGreaterEqual(len(streams), 2)

    def test_one_looks_now_and_then_also_where_the_wait_can_be_cancelled(self):
        state, over = ["PENDING"], threading.Event()

        def look(*_):
            found = (200, dict(TASK, state=state[0]))
            state[0] = "COMPLETED"  # which no event tells
            return found
        with Fake({"GET /v1/events": lambda *_: lambda send: over.wait(PATIENCE), "GET /v1/tasks/7": look}) as f, \
                vigil.Client(f.addr) as c, mock.patch("vigil._tasks._QUIET", 0.7):
            try:
                self.assertTrue(c.tasks.wait(7, timeout=PATIENCE / 2, scope=Scope()).done)
            finally:
                over.set()

    def silent(self, calls):
        """A server that answers no other call after the watch stands, and a client that asks for some seconds."""
        over = threading.Event()
        self.addCleanup(over.set)
        f = Fake(dict({"GET /v1/events": lambda *_: lambda send: over.wait(PATIENCE)},
                      **{call: lambda *_: over.wait(PATIENCE) and None for call in calls}))
        self.addCleanup(f.__exit__)
        c = vigil.Client(f.addr, retry_for=20, attempt=5)
        self.addCleanup(c.close)
        return f, c

    def test_a_wait_has_its_time_also_where_no_server_answers(self):
        _, c = self.silent(["GET /v1/tasks/7"])
        with self.assertRaisesRegex(TimeoutError, "task 7 is not over after 0.5 s"):
            c.tasks.wait(7, timeout=0.5)

    def test_a_map_has_its_time_also_where_no_server_creates(self):
        f, c = self.silent(["POST /v1/rooms/web/tasks"])
        with self.assertRaisesRegex(TimeoutError, "not all tasks are created"):
            list(c.tasks.map("web", "builder", range(100), parallel=2, timeout=0.5))
        self.assertLess(len({h["Idempotency-Key"] for k, h, *_ in f.heard if k.endswith("/tasks")}), 3)

    def test_many_waits_hold_up_no_other_call(self):
        over = threading.Event()

        async def main():
            async with vigil.AsyncClient(f.addr) as c:
                waits = [asyncio.ensure_future(c.tasks.wait(7)) for _ in range(70)]
                while f.count("GET /v1/events") < len(waits):
                    await asyncio.sleep(0.01)
                found = await asyncio.wait_for(c.tasks.get(1), PATIENCE / 2)
                self.assertEqual(found.id, 1)
                for wait in waits:
                    wait.cancel()
                self.assertTrue(all(isinstance(e, asyncio.CancelledError)
                                    for e in await asyncio.gather(*waits, return_exceptions=True)))
        with Fake({"GET /v1/events": lambda *_: lambda send: over.wait(PATIENCE),
                   "GET /v1/tasks/7": lambda *_: (200, TASK),
                   "GET /v1/tasks/1": lambda *_: (200, dict(TASK, id="1"))}) as f:
            try:
                asyncio.run(main())
            finally:
                over.set()


class Maps(unittest.TestCase):
    """Many tasks of which no event tells."""

    def results(self, f, stream, state, n=250):
        """What becomes of so many tasks: each is PENDING at the first look, and then what state says."""
        made, looks = [], {}

        def create(*_):
            made.append(None)  # one at a time
            return 200, dict(TASK, id=str(len(made)))

        def look(one):
            looks[one] = looks.get(one, 0) + 1
            return 200, dict(TASK, id=str(one), state=state if looks[one] > 1 else "PENDING")
        f.answers.update({f"GET /v1/tasks/{i + 1}": lambda *_, i=i: look(i + 1) for i in range(n)})
        f.answers.update({"POST /v1/rooms/web/tasks": create,
                          "GET /v1/events": lambda *_: lambda send: stream(send, lambda: len(looks) == n)})
        with vigil.Client(f.addr) as c:
            return [t.state for t in c.tasks.map("web", "builder", range(n), parallel=1, timeout=PATIENCE)]

    def test_all_are_looked_at_after_one_quiet_span(self):
        over, clock, spans = threading.Event(), [1000.0], []

        def rest(watch, *_):
            if not watch._stands or watch.left < 250:  # before all were looked at once, or after all are over
                watch._wake.wait(PATIENCE)
                return True
            spans.append(None)
            clock[0] += 15  # of 60 s
            return len(spans) < 2
        with Fake({}) as f, mock.patch("vigil._tasks.now", lambda: clock[0]), \
                mock.patch("vigil._tasks._QUIET", 10), mock.patch("vigil._tasks.Watch._rest", rest):
            try:
                self.assertEqual(self.results(f, lambda *_: over.wait(PATIENCE), "COMPLETED"), ["COMPLETED"] * 250)
            finally:
                over.set()
        self.assertEqual(len(spans), 1)

    def test_a_room_that_is_canceled_tells_for_all_its_tasks(self):
        over = threading.Event()

        def stream(send, looked):
            while not looked() and not over.wait(0.01):
                pass
            send('id: 9\nevent: room.canceled\ndata: {"seq": "9", "kind": "room.canceled"}\n\n')
            over.wait(PATIENCE)
        with Fake({}) as f, mock.patch("vigil._tasks._QUIET", 10 * PATIENCE):
            try:
                self.assertEqual(self.results(f, stream, "CANCELED", 5), ["CANCELED"] * 5)
            finally:
                over.set()


class Gaps(unittest.TestCase):
    """A process that was frozen has its attempt when it goes on."""

    def call(self, answers, clock="now"):
        """A call during whose first attempt the process stands still for longer than it is repeated."""
        real, ahead = getattr(_trial, clock), [0.0]

        def answer(*_):
            if ahead[0] == 0:
                ahead[0] = 1000.0
            return answers.pop(0) if answers else (503, {"code": "no_leader", "message": "nobody"})
        with Fake({"POST /v1/rooms/web/tasks": answer}) as f, vigil.Client(f.addr, attempt=0.5) as c, \
                mock.patch("vigil._trial." + clock, lambda: real() + ahead[0]):
            try:
                return c.tasks.create("web", "builder", "x").id, f
            except vigil.VigilError as e:
                return e, f

    def test_it_is_asked_once_more_and_not_for_ever(self):
        away = (503, {"code": "no_leader", "message": "nobody"})
        found, f = self.call([away, (200, TASK)])
        self.assertEqual(found, 7)
        self.assertEqual({h["Idempotency-Key"] for k, h, *_ in f.heard if k.endswith("tasks")}, {"17-1"})
        found, f = self.call([away])
        self.assertIsInstance(found, vigil.NoLeader)
        self.assertGreaterEqual(f.count("POST /v1/rooms/web/tasks"), 2)

    def test_a_session_that_has_ended_meanwhile_leaves_it_open(self):
        found, f = self.call([(504, {"code": "unknown_outcome", "message": "lost"}),
                              (409, {"code": "unknown_session", "message": "it has ended"}), (200, TASK)])
        self.assertIsInstance(found, vigil.UnknownOutcome)
        self.assertEqual(f.count("POST /v1/rooms/web/tasks"), 2)

    def test_so_it_is_where_the_clock_of_spans_stands_still_while_the_machine_is_asleep(self):
        found, f = self.call([(504, {"code": "unknown_outcome", "message": "lost"}),
                              (409, {"code": "unknown_session", "message": "it has ended"}), (200, TASK)], "wall")
        self.assertIsInstance(found, vigil.UnknownOutcome)
        self.assertEqual(f.count("POST /v1/rooms/web/tasks"), 2)


class Open(unittest.TestCase):
    """Whoever is told that nothing was executed does it again, under another number."""

    def check(self, answers, method, message, kind):
        """A call of 3 s, more than enough for all answers but the last, which is given for the rest of them."""
        over = threading.Event()
        self.addCleanup(over.set)
        path = {"Fleet.CreateTask": "POST /v1/rooms/web/tasks", "Cluster.PutSettings": "PATCH /v1/settings"}[method]
        away = (503, {"code": "no_leader", "message": "nobody"})
        given = {"lost": lambda: None, "away": lambda: away, "silent": lambda: over.wait(PATIENCE) and None}
        with Fake({path: lambda *_: given[answers.pop(0) if len(answers) > 1 else answers[0]]()}) as f, \
                vigil.Client(f.addr) as c, self.assertRaises(kind) as caught:
            c.call(method, message, timeout=3)
        self.assertIn("the last attempt: nobody", str(caught.exception))
        self.assertEqual("it may have been done" in str(caught.exception), kind is vigil.UnknownOutcome)
        over.set()

    def test_a_write_whose_answer_was_lost_may_have_been_done_whatever_came_last(self):
        task = {"room": "web", "role": "builder", "title": "x"}
        self.check(["lost", "away"], "Fleet.CreateTask", task, vigil.UnknownOutcome)
        self.check(["away"], "Fleet.CreateTask", task, vigil.NoLeader)

    def test_an_attempt_that_is_cut_short_may_be_done_whatever_came_before(self):
        self.check(["away", "silent"], "Cluster.PutSettings", {"values": {}}, vigil.UnknownOutcome)


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class Forks(unittest.TestCase):
    def test_a_child_writes_under_numbers_of_its_own(self):
        sessions, made = [], {}

        def session(*_):
            sessions.append(None)
            return 200, {"session": str(len(sessions))}

        def create(body, headers):  # as the cluster: a number has the answer of the first that used it
            key = headers["Idempotency-Key"]
            made.setdefault(key, body["text"])
            return 200, dict(TASK, text=made[key])
        with Fake({"POST /v1/sessions": session, "POST /v1/rooms/web/tasks": create}) as f, \
                vigil.Client(f.addr) as c:
            c.tasks.create("web", "builder", "before")
            held = [threading.Lock() for _ in range(2)]
            c._servers._lock, c._sessions._lock = held  # as another thread may have them at that moment
            for lock in held:
                lock.acquire()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which is the point
                child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if c.tasks.create("web", "builder", "child").text == "child" else 1)
                finally:
                    os._exit(2)
            for lock in held:
                lock.release()
            self.assertEqual(c.tasks.create("web", "builder", "parent").text, "parent")
            until = time.monotonic() + PATIENCE
            done, status = os.waitpid(child, os.WNOHANG)
            while done == 0 and time.monotonic() < until:
                time.sleep(0.01)
                done, status = os.waitpid(child, os.WNOHANG)
            if done == 0:
                os.kill(child, 9)
                os.waitpid(child, 0)
            self.assertEqual((done, status), (child, 0))
            self.assertEqual(sorted(made.values()), ["before", "child", "parent"])
            self.assertEqual(len(sessions), 2)
            self.assertFalse(any(k.startswith("DELETE") for k, *_ in f.heard))  # the child has ended nothing
