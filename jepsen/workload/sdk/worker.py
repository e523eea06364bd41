"""A worker of workload sdk in Python: the package vigil does the work, and a ledger says what it was told.

It tells its driver on standard output, a JSON object a line, which agent it is and which tasks it has created, and
creates none any more when its standard input ends. doc.go of package workload says what is promised.
"""

import asyncio
import json
import os
import random
import sys
import threading
import time

import vigil

ROLE, LEDGER, NAME = os.environ["SDK_ROLE"], os.environ["SDK_LEDGER"], os.environ["SDK_NAME"]
TTL, EVERY = float(os.environ["SDK_TTL"]), float(os.environ["SDK_EVERY"])  # s
ENDS = {"complete": "complete", "fail": "fail", "handoff": "complete"}
WORDS = {"Work.CompleteTask": "complete", "Work.FailTask": "fail", "Work.ProgressTask": "progress"}


def clock():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def tell(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Book:
    """The account of a life, as package ledger reads it."""

    def __init__(self):
        self.file, self.life = -1, ()

    def line(self, text):
        if self.file >= 0:
            os.write(self.file, (text + "\n").encode())

    def begin(self, agent, incarnation):
        if self.life == (agent, incarnation):
            return
        path = f"{agent.replace('/', '%')}-{incarnation}-client-{os.getpid()}-{NAME}.life"
        file = os.open(os.path.join(LEDGER, path), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        os.write(file, f"life {agent} {incarnation} client {os.getpid()}\nstart {clock()}\n".encode())
        self.file, self.life = file, (agent, incarnation)
        tell(did="join", agent=agent)

    def tick(self):
        while True:
            time.sleep(0.05)
            self.line(f"t {clock()}")

    def heard(self, method, message, answer, sent):
        """Notes what the cluster has acknowledged."""
        def said(what, task, attempt):
            self.line(f"said {sent} {clock()} {what} {task} {attempt}")

        if method == "Work.Join":
            self.begin(str(answer["agent"]), int(answer["incarnation"]))
        elif method == "Work.Wait":
            said("claim", answer["task"]["id"], answer["attempt"])
        elif method == "Work.Next":
            said(next(what for key, what in ENDS.items() if key in message), message["task"], message["attempt"])
            claim = answer.get("claim")
            if claim:
                said("claim", claim["task"]["id"], claim["attempt"])
        elif method in WORDS:
            said(WORDS[method], message["task"], message["attempt"])


book = Book()


class Recorded(vigil.Client):
    def call(self, method, message=None, **more):
        sent = clock()
        answer = super().call(method, message, **more)
        book.heard(method, message, answer, sent)
        return answer


def give_back(job):
    return job.id % 7 == 0 and job.attempt == 1


def work(job):
    job.progress("half of it")
    if job.id % 5 == 0:
        job.run(["true"])
    if job.id % 23 == 0:
        job.sleep(1.5 * TTL)
    if give_back(job):
        raise vigil.Retry("the first attempt", after=1)
    job.sleep(random.random() / 10)
    return "done by " + job.agent


async def work_async(job):
    await job.progress("half of it")
    if job.id % 5 == 0:
        await job.run(["true"])
    if job.id % 23 == 0:
        await asyncio.sleep(1.5 * TTL)
    if give_back(job):
        raise vigil.Retry("the first attempt", after=1)
    await asyncio.sleep(random.random() / 10)
    return "done by " + job.agent


def create(resting):
    room, role = ROLE.split("/")
    client = vigil.Client(name="producer " + NAME)
    n = 0
    while not resting.wait(EVERY * (0.5 + random.random())):
        n += 1
        line = {"did": "create", "value": f"{NAME}.{n}", "call": clock(), "outcome": "ok"}
        try:
            line["task"] = client.tasks.create(room, role, title=line["value"]).id
        except vigil.VigilError as e:
            line.update(outcome="failed" if e.final else "unknown", error=e.code)
        tell(**line, **{"return": clock()})


def rest(resting):
    sys.stdin.read()
    resting.set()


resting = threading.Event()
for loop in ((book.tick,), (rest, resting), (create, resting)):
    threading.Thread(target=loop[0], args=loop[1:], daemon=True).start()
handler = work_async if os.environ.get("SDK_ASYNC") else work
vigil.worker(ROLE, client=Recorded(name="worker " + NAME))(handler)
vigil.run()
book.line(f"exit {clock()}")
