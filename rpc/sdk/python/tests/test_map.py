import threading
import unittest
from unittest import mock

import vigil

from .fake import Fake

PATIENCE = 60  # s
DENIED = (403, {"code": "denied", "message": "not you"})


class Results(unittest.TestCase):
    """A server that drops results."""

    def serve(self, n, create=lambda one: None, gone=lambda one: False, state=lambda one: "COMPLETED"):
        """A server of n tasks at most, which nobody hears of, and a client. create is called before a task is created,
        gone tells whether its result was dropped. self.read has the tasks that were looked at."""
        self.read, self.looked, made = set(), threading.Condition(), {}

        def post(body, headers):
            one = made.setdefault(headers["Idempotency-Key"], len(made) + 1)  # which a repetition has again
            create(one)
            return 200, {"id": str(one), "room": "web", "role": "square", "state": "QUEUED"}

        def look(one):
            task = {"id": str(one), "room": "web", "role": "square", "state": state(one)}
            task.update({"result_dropped": "4"} if gone(one) else {"result": str(one)})
            with self.looked:
                self.read.add(one)
                self.looked.notify_all()
            return 200, task
        answers = {f"GET /v1/tasks/{i + 1}": lambda *_, i=i: look(i + 1) for i in range(n)}
        answers.update({"POST /v1/rooms/web/tasks": post, "GET /v1/events": lambda *_: DENIED})
        f = Fake(answers)
        self.addCleanup(f.__exit__)
        c = vigil.Client(f.addr)
        self.addCleanup(c.close)
        return c

    def wait_read(self, tasks):
        """Waits until these were looked at; where nobody does it ends some time later."""
        with self.looked:
            return self.looked.wait_for(lambda: self.read >= set(tasks), PATIENCE / 4)

    def test_a_result_is_read_before_the_last_task_is_created(self):
        dropped = threading.Event()

        def create(one):
            if one == 3:
                self.wait_read({1, 2})
                dropped.set()
        c = self.serve(3, create, lambda one: dropped.is_set() and one < 3)
        self.assertEqual([t.result for t in c.tasks.map("web", "square", "abc", parallel=1)], ["1", "2", "3"])

    def test_a_result_is_read_before_the_caller_comes_to_it(self):
        dropped = threading.Event()
        c = self.serve(3, gone=lambda one: dropped.is_set())
        results = c.tasks.map("web", "square", "abc", parallel=1)
        first = next(results).result
        self.wait_read({1, 2, 3})
        dropped.set()
        self.assertEqual([first] + [t.result for t in results], ["1", "2", "3"])

    def test_all_other_results_come_before_the_lost_ones_are_named(self):
        c = self.serve(4, gone=lambda one: one in (1, 3), state=lambda one: "FAILED" if one == 2 else "COMPLETED")
        found = []
        with self.assertRaisesRegex(vigil.ResultLost, "tasks 1, 3 of web/square .* results 8 bytes went") as caught:
            for task in c.tasks.map("web", "square", "abcd", parallel=1):
                found.append((task.id, task.state))
        self.assertEqual(found, [(2, "FAILED"), (4, "COMPLETED")])
        self.assertEqual({place: t.id for place, t in caught.exception.tasks.items()}, {0: 1, 2: 3})
        self.assertEqual(caught.exception.task.id, 1)

    def test_an_error_names_few_of_many(self):
        c = self.serve(13, gone=lambda one: True)
        with self.assertRaisesRegex(vigil.ResultLost, r"tasks 1, 2, .* 10 and 3 more of") as caught:
            list(c.tasks.map("web", "square", range(13), parallel=1))
        self.assertEqual(len(caught.exception.tasks), 13)

    def test_many_are_looked_at_in_turn_where_no_events_may_be_read(self):
        looks = []

        def state(one):
            looks.append(one)
            return "COMPLETED" if looks.count(3) > 1 else "PENDING"
        c = self.serve(3, state=state)
        with mock.patch("vigil._tasks._LOOK", 0.02), mock.patch("vigil._tasks._TURN", 2):
            found = list(c.tasks.map("web", "square", range(3), parallel=1, timeout=PATIENCE))
        self.assertEqual(len(found), 3)

    def test_a_map_that_is_left_ends_its_threads(self):
        before = set(threading.enumerate())
        c = self.serve(2, state=lambda one: "COMPLETED" if one == 1 else "PENDING")
        results = c.tasks.map("web", "square", "ab", parallel=1)
        next(results)
        threads = [t for t in set(threading.enumerate()) - before if t.name == "vigil-results"]
        results.close()
        for t in threads:
            t.join(PATIENCE / 2)
        self.assertEqual([t.is_alive() for t in threads], [False])
