import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

import vigil
from vigil import _end
from vigil._job import Job
from vigil._life import Life
from vigil._who import Who
from vigil._worker import Worker, _Signals

from .fake import Fake

PATIENCE = 60  # s
AWAY = (503, {"code": "no_leader", "message": "nobody leads"})


class Room:
    """The calls of a life in a room: ends maps each call that ends an attempt to its answers, one after the other; the
    last one stays."""

    def __init__(self, *texts, ends=None, ttl="60s"):
        self.ends, self.done, self.pid = ends or {}, threading.Event(), os.getpid()
        self.claims = [{"task": {"id": str(i + 1), "room": "web", "role": "builder", "state": "IN_PROGRESS", "text": t},
                        "attempt": 1, "ttl": ttl} for i, t in enumerate(texts)]
        answers = {"POST /v1/work:join": lambda *_: (200, {"agent": "web/builder", "incarnation": "1", "ttl": ttl}),
                   "POST /v1/work:wait": self.wait, "POST /v1/work:beat": lambda *_: (200, {"ttl": ttl}),
                   "POST /v1/work:leave": lambda *_: (200, {})}
        for call in ("next", "complete", "fail", "handoff"):
            answers["POST /v1/work:" + call] = lambda body, headers, call=call: self.end(call)
        self.fake = Fake(answers)

    def wait(self, *_):
        if self.claims:
            return 200, self.claims.pop(0)
        self.done.set()
        time.sleep(0.05)
        return 404, {"code": "no_task", "message": "nothing"}

    def end(self, call):
        answers = self.ends.get(call)
        if answers:
            return answers.pop(0) if len(answers) > 1 else answers[0]
        if call != "next":
            return 200, {}
        return 200, ({"claim": self.claims.pop(0)} if self.claims else {"none": {"code": "no_task"}})

    def said(self):
        """The ends of attempts, as they came."""
        out = []
        for key, _, body, _ in self.fake.heard:
            call = key.rpartition(":")[2]
            if call in ("next", "complete", "fail", "handoff"):
                out.append((call, {k: v for k, v in body.items() if k not in ("speaker", "task", "attempt", "start")}))
        return out

    def run(self, fn, client=None, until=None, retry_for=60):
        """Runs a worker until it waits and there is no task, or until() holds."""
        with self.fake as f, client or vigil.Client(f.addr, retry_for=retry_for) as c:
            w = Worker("web/builder", fn, (), c)

            def stop():
                while not (until() if until else self.done.wait(0.01)):
                    time.sleep(0.01)
                w.stop()
            ender = threading.Thread(target=stop, daemon=True)
            ender.start()
            try:
                w.run()
            finally:
                if os.getpid() != self.pid:
                    e = sys.exc_info()[1]
                    os._exit(int(e.code or 0) if isinstance(e, SystemExit) else 77)
            ender.join(PATIENCE)


class Ends(unittest.TestCase):
    def refused(self, code, value="text", call="next"):
        room = Room("one", "two", ends={call: [(400, {"code": code, "message": "no"}), (200, {"none": {"code": "x"}})]})
        with self.assertLogs("vigil"):
            room.run(lambda job: value)
        return room.said()

    def test_a_result_that_is_refused_fails_its_attempt_and_the_worker_goes_on(self):
        for code in ("invalid", "not_found", "too_large"):
            said = self.refused(code)
            self.assertEqual(said[1], ("fail", {"text": "what it returned was refused: no", "retryable": False,
                                                "result": "text"}))
            self.assertEqual(said[2], ("next", {"complete": {"result": "text"}}))
        said = self.refused("not_found", vigil.Handoff("nobody", "x"))
        self.assertEqual([call for call, _ in said], ["next", "fail", "next"])
        self.assertEqual(said[1][1]["result"], "for nobody: x\nx")

    def test_what_is_too_large_to_be_kept_is_cut(self):
        kept = _end.unfit(_end.End(result="\u00e4" * 200000), vigil.TooLarge("no")).result
        self.assertEqual(len(kept.encode()), 256 << 10)
        self.assertTrue(kept.endswith("...\n[cut: it had 400000 bytes]"))

    def test_a_result_that_servers_cannot_keep_is_left_out(self):
        end = _end.unfit(_end.End(failure="x", result="y", after=3.0), vigil.OldServers("no"))
        self.assertEqual((end.failure, end.result, end.after), ("x", "", 3.0))
        self.assertIsNone(_end.unfit(end, vigil.OldServers("no")))

    def test_what_a_budget_has_no_room_for_is_tried_again_later(self):
        said = self.refused("full")
        self.assertEqual(said[1], ("fail", {"text": "what it returned was refused: no", "retryable": True,
                                            "after": "60.000s", "result": "text"}))

    def test_a_span_that_is_refused_is_left_out_and_the_worker_goes_on(self):
        room = Room("one", "two", ends={"next": [(400, {"code": "invalid", "message": "after is long"}),
                                                 (200, {"none": {"code": "x"}})]})

        def fn(job):
            if job.text == "one":
                raise vigil.Retry("429", after=3)
            return job.text
        with self.assertLogs("vigil"):
            room.run(fn)
        self.assertEqual(room.said(), [
            ("next", {"fail": {"reason": "429", "retryable": True, "after": "3.000s"}}),
            ("fail", {"text": "429", "retryable": True}), ("next", {"complete": {"result": "two"}})])

    def test_what_is_refused_of_the_life_ends_it(self):
        room = Room("one", ends={"next": [(409, {"code": "stopped", "message": "a human has stopped it"})]})
        with self.assertRaises(vigil.Stopped):
            room.run(lambda job: "text")
        self.assertEqual([call for call, _ in room.said()], ["next"])

    def test_a_refused_failure_is_not_said_again(self):
        self.assertIsNone(_end.unfit(_end.End(failure="x"), vigil.Invalid("no")))
        self.assertIsNone(_end.unfit(_end.End(result="x"), vigil.Superseded("no")))

    def test_an_end_is_said_for_as_long_as_the_life_lasts(self):
        lost = (410, {"code": "too_old", "message": "write 1 is too old"})
        gone = (409, {"code": "unknown_session", "message": "it has ended"})
        room = Room("one", "two", ends={"next": [AWAY] * 8 + [lost] + [gone] * 5 + [(200, {"none": {"code": "x"}})]})
        with self.assertLogs("vigil", "WARNING") as log:
            room.run(lambda job: job.text, retry_for=0.2)
        self.assertEqual([end["complete"]["result"] for _, end in room.said()], ["one"] * 15 + ["two"])
        self.assertIn("still has to say", "".join(log.output))

    def test_what_is_no_unicode_is_sent_all_the_same(self):
        room = Room("one")
        room.run(lambda job: "half of \ud83d it")
        self.assertEqual(room.said(), [("next", {"complete": {"result": "half of ? it"}})])


class Stops(unittest.TestCase):
    def test_a_worker_that_is_stopped_meanwhile_leaves_its_result_with_agentd(self):
        room = Room("one", ends={"next": [AWAY], "complete": [AWAY]})
        with tempfile.TemporaryDirectory() as spool, mock.patch("vigil._worker.LEAVE", 0.3), \
                mock.patch.dict(os.environ, VIGIL_SPOOL=spool, VIGIL_AGENT="web/builder", VIGIL_INCARNATION="1",
                                VIGIL_TOKEN="secret"):
            room.run(lambda job: "a result", until=lambda: len(room.said()) > 1, retry_for=0.2)
            names = os.listdir(spool)
            self.assertEqual(len(names), 1, names)
            path = os.path.join(spool, names[0])
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path) as f:
                self.assertEqual(json.load(f), {"agent": "web/builder", "incarnation": 1, "task": 1, "attempt": 1,
                                                "result": "a result", "token": "secret"})
        self.assertRegex(names[0], r"^[0-9]{20}-1-1\.json$")
        self.assertEqual(room.fake.count("POST /v1/work:leave"), 0)  # which would put the task back

    def test_by_hand_nothing_is_left_anywhere(self):
        room = Room("one", ends={"next": [AWAY], "complete": [AWAY]})
        with tempfile.TemporaryDirectory() as spool, mock.patch("vigil._worker.LEAVE", 0.3), \
                mock.patch.dict(os.environ, VIGIL_SPOOL=spool):
            room.run(lambda job: "a result", until=lambda: len(room.said()) > 1, retry_for=0.2)
            self.assertEqual(os.listdir(spool), [])
        self.assertEqual(room.fake.count("POST /v1/work:leave"), 1)


class Held(unittest.TestCase):
    """A signal may come while the main thread holds any lock."""

    def test_the_handler_takes_no_lock(self):
        life = Life(vigil.Client("127.0.0.1:1"), Who("web/builder"))
        w = Worker("web/builder", lambda job: None, (), None)
        for lock in ("worker", "scope", "job", "event"):
            job = Job(life, {"id": "7", "room": "web", "role": "builder"}, 1)
            w._life, w._job, w._stop = life, job, None
            held = {"worker": w._lock, "scope": job._scope._lock, "job": job._lock,
                    "event": job.cancelled._cond}[lock]
            with _Signals(w._signalled, w._tell):
                with held:
                    os.kill(os.getpid(), signal.SIGTERM)
                    self.assertEqual(w._stop, "SIGTERM")  # the handler has returned
                self.assertTrue(job._scope.ended.wait(PATIENCE), lock)
            self.assertIsInstance(job.cause, vigil.Stopping)

    def test_a_signal_interrupts_the_function_and_the_task_is_given_back(self):
        room = Room("one")

        def fn(job):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)
        room.run(fn, until=lambda: room.fake.count("POST /v1/work:leave"))
        self.assertEqual(room.said(), [])  # a stop is no failure: it leaves

    def test_a_function_that_makes_another_exception_of_the_interrupt_gives_its_task_back(self):
        room = Room("one")

        def fn(job):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(PATIENCE)
            except BaseException:
                raise ValueError("the tool was interrupted")
        with mock.patch.object(_Signals, "_follow"):  # the thread that tells the job has not come to it yet
            room.run(fn, until=lambda: room.fake.count("POST /v1/work:leave"))
        self.assertEqual(room.said(), [])  # a stop is no failure: it leaves

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_child_of_the_function_says_nothing_of_its_end(self):
        room, children = Room("one", "two"), []

        def fn(job):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child:
                children.append(child)
                return "the parent's"
            if job.text == "one":
                raise SystemExit(5)
            os.kill(os.getpid(), signal.SIGTERM)
            return "the child's"
        room.run(fn)
        codes = [os.waitpid(child, 0)[1] for child in children]
        self.assertEqual([os.waitstatus_to_exitcode(c) for c in codes], [5, -signal.SIGTERM])
        self.assertEqual(room.said(), [("next", {"complete": {"result": "the parent's"}})] * 2)
