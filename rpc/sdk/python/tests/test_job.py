import datetime
import os
import subprocess
import sys
import threading
import time
import unittest

import vigil
import vigil._life
from vigil._job import Job, clip
from vigil._trace import here
from vigil._worker import Worker


class Life:
    agent, incarnation = "web/builder", 1

    def __init__(self, mails=(), asked=()):
        self.said, self.mails, self.asked = [], list(mails), asked  # asked: what comes after a question
        self._lock, self._kept = threading.Lock(), {}

    def say(self, method, message, job, scope):
        self.said.append((method, message))
        if message.get("waiting"):
            self.mails += self.asked
        if method == "Mailbox.ReadMail":
            mails, self.mails = self.mails, []
            return {"mails": mails}
        return {}

    kept = vigil._life.Life.kept


def job(life=None, **task):
    return Job(life or Life(), dict({"id": "7", "room": "web", "role": "builder", "text": "x"}, **task), 2)


class Commands(unittest.TestCase):
    def test_a_command_ends_with_the_job_and_what_it_started_too(self):
        j = job()
        script = ("import subprocess,time; p=subprocess.Popen(['sleep','300']); print(p.pid,flush=True); "
                  "time.sleep(300)")
        p = j.popen([sys.executable, "-c", script], stdout=subprocess.PIPE, grace=5)
        child = int(p.stdout.readline())
        j.cancel(vigil.Superseded("over"))
        self.assertNotEqual(p.wait(20), 0)
        p.stdout.close()
        until = time.monotonic() + 20
        while gone(child) is False and time.monotonic() < until:
            time.sleep(0.02)
        self.assertTrue(gone(child))
        with self.assertRaises(vigil.Superseded):
            j.popen(["true"])

    def test_a_command_that_ignores_sigterm_is_killed(self):
        j = job()
        script = ("import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1,flush=True); "
                  "time.sleep(300)")
        p = j.popen([sys.executable, "-c", script], stdout=subprocess.PIPE, grace=0.2)
        p.stdout.readline()
        j.cancel(vigil.Superseded("over"))
        self.assertEqual(p.wait(20), -9)
        p.stdout.close()

    def test_run_gives_the_output_and_tells_of_failures(self):
        j = job()
        self.assertEqual(j.run(["cat"], input="some text").stdout, "some text")
        with self.assertRaisesRegex(vigil.CommandFailed, "has ended with 3: bad"):
            j.run(["sh", "-c", "echo bad >&2; exit 3"])
        with self.assertRaises(subprocess.TimeoutExpired):
            j.run(["sleep", "300"], timeout=0.1)
        big = j.run([sys.executable, "-c", "print('a' * 3000000 + 'end')"]).stdout
        self.assertTrue(len(big) <= 1 << 20 and big.endswith("end\n"))

    def test_run_raises_when_nobody_wants_the_result(self):
        j = job()
        threading.Timer(0.2, j.cancel, [vigil.Superseded("over")]).start()
        with self.assertRaises(vigil.Superseded):
            j.run(["sleep", "300"], grace=5)

    def test_what_a_function_leaves_running_is_ended(self):
        j = job()
        p = j.popen(["sleep", "300"])
        j.tidy()
        self.assertIsNotNone(p.poll())


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Words(unittest.TestCase):
    def test_progress_says_which_attempt_and_is_bounded(self):
        life = Life()
        job(life).progress("ä" * 5000, percent=50, expect=90)
        method, m = life.said[0]
        self.assertEqual((method, m["task"], m["attempt"], m["percent"], m["expect"]),
                         ("Work.ProgressTask", 7, 2, 50, "90.000s"))
        self.assertLessEqual(len(m["text"].encode()), 4096)
        self.assertEqual(clip("short", 10), "short")

    def test_a_cancelled_job_says_nothing_more(self):
        life = Life()
        j = job(life)
        j.cancel(vigil.Superseded("over"))
        with self.assertRaises(vigil.Superseded):
            j.progress("x")
        self.assertEqual(life.said, [])

    def test_what_a_human_says_by_any_way_is_an_answer_and_other_mail_is_kept(self):
        for sender in ("anna", "user/anna", "token/7", "root/s1"):
            mails = [{"id": "1", "from": "web/tester", "from_incarnation": "3"}, {"id": "2", "from": sender},
                     {"id": "3", "from": sender}]
            life = Life(asked=mails)
            j = job(life)
            self.assertEqual(j.ask("may I?", within=20).id, 2)
            self.assertEqual([m["mail"] for said, m in life.said if said == "Mailbox.AckMail"], [2])
            self.assertEqual([m.id for m in j.inbox()], [1, 3])
            self.assertEqual(j.inbox(), [])

    def test_an_answer_is_what_a_human_says_after_the_question(self):
        old = [{"id": "1", "from": "anna", "body": "yes"}, {"id": "2", "from": "vigil", "kind": "nudge"}]
        life = Life(old, asked=[{"id": "1", "from": "anna", "body": "yes", "redelivered": True},
                                {"id": "3", "from": "vigil", "kind": "status-inquiry"},
                                {"id": "4", "from": "watchdog", "kind": "room-inquiry"},
                                {"id": "5", "from": "anna", "body": "no"}])
        j = job(life)
        self.assertEqual(j.ask("Delete the customer?", within=20).body, "no")
        self.assertEqual([m["mail"] for said, m in life.said if said == "Mailbox.AckMail"], [5])
        self.assertEqual([m.id for m in j.inbox()], [1, 2, 3, 4])

    def test_a_wait_for_mail_outlives_the_lease(self):
        asked = threading.Event()

        class Outside(Life):
            park = vigil._life.Life.park
            speaker, _ask = {}, asked

            def call(self, method, message, scope):
                if not asked.is_set():
                    raise vigil.Rejoin("it has no lease")
                self.mails = [{"id": "3", "from": "anna"}]  # a beat was asked for, and it has joined

            client = property(lambda self: self)

        self.assertEqual([m.id for m in job(Outside()).inbox(wait=20)], [3])

    def test_usage_without_anybody_to_tell(self):
        os.environ.pop("OTEL_EXPORTER_OTLP_ENDPOINT", None)
        self.assertFalse(job().usage(tokens=3))

    def test_a_title_stands_for_a_text(self):
        self.assertEqual(job(text="", title="Say hello").text, "Say hello")


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Traces(unittest.TestCase):
    def test_what_is_run_and_created_for_a_traced_task_joins_its_trace(self):
        j = job(traceparent=TRACE)
        self.assertEqual(j.run(["sh", "-c", "echo $TRACEPARENT"]).stdout.strip(), TRACE)
        self.assertEqual(j.run(["sh", "-c", "echo $TRACEPARENT"], env={}).stdout.strip(), TRACE)
        w = Worker("web/builder", lambda j: here(), (), None)
        self.assertEqual(w._outcome(j, w._direct).result, TRACE)
        self.assertEqual(here(), "")

    def test_what_is_no_trace_changes_nothing(self):
        for text in ("", "x", TRACE.replace("4", "g"), "00-" + "0" * 32 + "-00f067aa0ba902b7-01"):
            self.assertEqual(job(traceparent=text).trace, "")


class Outcomes(unittest.TestCase):
    def end(self, fn, retry_on=()):
        w = Worker("web/builder", fn, retry_on, None)
        return w._outcome(job(), w._direct)

    def raising(self, e, retry_on=()):
        def fn(job):
            raise e
        import logging
        logging.disable(logging.CRITICAL)
        try:
            return self.end(fn, retry_on)
        finally:
            logging.disable(logging.NOTSET)

    def test_results(self):
        self.assertEqual(self.end(lambda j: "text").result, "text")
        self.assertEqual(self.end(lambda j: None).result, "")
        self.assertEqual(self.end(lambda j: {"ok": True}).result, '{"ok": true}')
        end = self.end(lambda j: "x" * 300000)
        self.assertIn("at most 262144 are taken, and its beginning is kept with the task", end.failure)
        self.assertTrue(end.result.startswith("xxx") and end.result.endswith("[cut: it had 300000 bytes]"))
        self.assertIn("neither text nor JSON", self.end(lambda j: object()).failure)
        h = self.end(lambda j: vigil.Handoff("reviewer", {"n": 1}, result="r"))
        self.assertEqual(h.next()["handoff"]["to_role"], "reviewer")
        self.assertEqual(h.next()["handoff"]["result"], "r")

    def test_exceptions_say_type_and_message_only(self):
        e = self.raising(ValueError("bad"))
        self.assertEqual((e.failure, e.retryable), ("ValueError: bad", False))
        self.assertTrue(self.raising(FileNotFoundError(2, "no"), (OSError,)).retryable)
        e = self.raising(vigil.Retry("later", after=30))
        self.assertEqual((e.failure, e.retryable, e.after), ("later", True, 30.0))
        self.assertTrue(self.raising(vigil.NoLeader("away")).retryable)
        self.assertFalse(self.raising(vigil.Conflict("no")).retryable)
        self.assertLessEqual(len(self.raising(ValueError("x" * 9000)).failure), 1024)

    def test_a_span_until_the_next_attempt_is_one_that_servers_take(self):
        month = 30 * 86400.0
        for after, want in ((-0.4, 0.0), (31 * 86400, month), (float("inf"), month), (float("nan"), None),
                            (datetime.timedelta(days=31), month), (10 ** 400, None), ("soon", None), (None, None)):
            e = self.raising(vigil.Retry("later", after=after))
            self.assertEqual((e.failure, e.retryable, e.after), ("later", True, want), after)

    def test_nothing_is_said_of_what_nobody_wants(self):
        def fn(j):
            j.cancel(vigil.Superseded("over"))
            return "result"
        self.assertIsNone(self.end(fn))
