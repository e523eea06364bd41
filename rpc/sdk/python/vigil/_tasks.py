"""Tasks, as who gives them out sees them."""

from __future__ import annotations

import json
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Union

from . import _errors as errors
from ._clock import Span, duration, now, seconds
from ._trace import checked, here
from ._wire import Aborted, Scope

if TYPE_CHECKING:
    from ._client import Client

OVER = ("COMPLETED", "FAILED", "CANCELED", "QUARANTINED")
MAX_RESULT = 256 << 10  # bytes
MAX_TITLE = 80  # characters of a title that is taken from the text
_LOOK = 1.0  # s between looks, where no events may be read
_QUIET = 60.0  # s without an event after which one looks all the same
_TURN = 100  # tasks that are looked at then, where no events may be read
_NAMED = 10  # tasks that the text of an error names


class Task:
    """A unit of work, as it was when it was asked for."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: Dict[str, Any] = dict(raw)
        """All of it, in the form of the API."""
        self.id = int(raw["id"])
        self.room = str(raw.get("room", ""))
        self.role = str(raw.get("role", ""))
        self.state = str(raw.get("state", ""))
        """QUEUED, PENDING, ACKNOWLEDGED, IN_PROGRESS, COMPLETED, FAILED, CANCELED or QUARANTINED."""
        self.title = str(raw.get("title", ""))
        self.text = str(raw.get("text", ""))
        """Empty in lists."""
        self.note = str(raw.get("note", ""))
        """The last progress."""
        self.result = str(raw.get("result", ""))
        """What its worker has returned; of a task that has FAILED the reason."""
        self.attempt = int(raw.get("attempt", 0))
        self.holder = str(raw.get("holder", ""))
        """The agent of the last attempt, room/role or room/role.2."""

    @property
    def done(self) -> bool:
        """Tells whether it was completed."""
        return self.state == "COMPLETED"

    @property
    def lost(self) -> bool:
        """Tells whether something of result is gone since the budget for tasks was full: what is there is the beginning
        of it, or nothing."""
        return int(self.raw.get("result_dropped", 0)) > 0

    @property
    def over(self) -> bool:
        """Tells whether nobody works on it any more, unless a human brings it back."""
        return self.state in OVER

    @property
    def reason(self) -> str:
        """Why it has failed, or why its last attempt did; "": neither has."""
        if self.state == "FAILED":
            return self.result or self.note
        failed = self.raw.get("failed") or [{}]
        return "" if self.done else str(failed[-1].get("reason", ""))

    def json(self) -> Any:
        """The result, as a worker has returned it that returned more than text. ValueError: it is no JSON."""
        return json.loads(self.result)

    def __repr__(self) -> str:
        return f"<Task {self.id} {self.room}/{self.role} {self.state}>"


class TaskFailed(Exception):
    """A task that was waited for has ended otherwise than by completion. task is what became of it."""

    def __init__(self, task: Task) -> None:
        why = f": {task.reason}" if task.reason else ""
        super().__init__(f"task {task.id} of {task.room}/{task.role} is {task.state}{why}")
        self.task = task


class ResultLost(Exception):
    """Tasks that were waited for were completed, and their results, or the ends of these, were dropped since the budget
    for tasks was full. task is what is left of the first, tasks what is left of each, by the place of its text in what
    a map was given, from 0 on."""

    def __init__(self, task: Task, tasks: Optional[Mapping[int, Task]] = None) -> None:
        self.task = task
        self.tasks: Dict[int, Task] = {0: task} if tasks is None else dict(tasks)
        ids = [str(t.id) for t in self.tasks.values()]
        of = f"of {task.room}/{task.role}"
        which = f"task {ids[0]} {of} was completed, and of its result"
        if len(ids) > 1:
            more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
            which = f"tasks {', '.join(ids[:_NAMED])}{more} {of} were completed, and of their results"
        gone = sum(int(t.raw.get("result_dropped", 0)) for t in self.tasks.values())
        super().__init__(f"{which} {gone} bytes went since the budget for tasks was full")


def text_of(value: object) -> str:
    """Text as it is, nothing as "", anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def title_of(text: str, otherwise: str) -> str:
    """The title of a text: its first line that says something, without what servers refuse in a title."""
    lines = ("".join(" " if unicodedata.category(c) == "Cc" else c for c in line).strip() for line in text.split("\n"))
    return next((line for line in lines if line), otherwise)[:MAX_TITLE].strip()


class Tasks:
    """The tasks of a cluster: vigil.Client().tasks. Safe for threads."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(self, room: str, role: str, text: object = "", *, title: str = "", priority: int = 0,
               expect: Optional[Span] = None, after: Optional[Span] = None,
               traceparent: Optional[str] = None, key: str = "") -> Task:
        """Creates a task of a role, exactly once however often it has to be sent.

        text is what the worker gets, at most 256 KiB; what is no text is sent as JSON. Without a title its first
        line is shown to people. expect is how long an attempt may take, after puts the task off: spans in seconds,
        1 s to 30 days. traceparent is the trace that it joins; without it that of the job whose function runs, or the
        one in TRACEPARENT. key names it in its room, at most 128 bytes without white space: who creates a task with
        it again gets the one that is there, as long as it is kept, and Conflict when that says something else.
        """
        message = _wanted(room, role, text, title, here() if traceparent is None else checked(traceparent))
        if priority:
            message["priority"] = priority
        if expect is not None:
            message["expect"] = duration(expect)
        if after is not None:
            message["after"] = duration(after)
        if key:
            message["key"] = key
        return Task(self._client.call("Fleet.CreateTask", message))

    def get(self, task: Union[int, Task]) -> Task:
        """The task as it is now, with text and result."""
        return Task(self._client.call("Fleet.GetTask", {"task": _id(task)}))

    def list(self, room: str = "", role: str = "", states: Iterable[str] = ()) -> Iterator[Task]:
        """The tasks of a room and a role, the oldest first, without texts; of all where nothing is named."""
        message: Dict[str, Any] = {"room": room, "role": role, "states": list(states), "limit": 1000}
        while True:
            page = self._client.call("Fleet.ListTasks", message)
            for raw in page["tasks"]:
                yield Task(raw)
            if not page.get("more"):
                return
            message["after"] = page["next"]

    def cancel(self, task: Union[int, Task]) -> Task:
        """Cancels a task; who works on it is told within seconds."""
        return Task(self._client.call("Fleet.CancelTask", {"task": _id(task)}))

    def wait(self, task: Union[int, Task], *, timeout: Optional[Span] = None, check: bool = True,
             scope: Optional[Scope] = None) -> Task:
        """Waits until a task is over and gives what became of it. It outlives servers and leaders.

        TaskFailed unless it was completed, ResultLost where its result was dropped before it was read; with check=False
        the task is returned all the same. TimeoutError after timeout seconds; the task goes on then.
        """
        one = _id(task)
        for found in Watch(self._client, [one], scope).until(None if timeout is None else seconds(timeout)):
            if check and not found.done:
                raise TaskFailed(found)
            if check and found.lost:
                raise ResultLost(found)
            return found
        raise TimeoutError(f"task {one} is not over after {seconds(timeout or 0):g} s")

    def map(self, room: str, role: str, texts: Iterable[object], *, parallel: int = 8,
            timeout: Optional[Span] = None) -> Iterator[Task]:
        """Creates a task for each text and gives them in this order as they are over, whatever became of each.

        parallel is how many are created at once. Each result is read when its task is over, however late the caller
        asks for it. TimeoutError when not all are over after timeout seconds. Tasks whose results were dropped before
        they were read are left out, and ResultLost names them after all others were given.
        """
        until = None if timeout is None else now() + seconds(timeout)
        trace = here()
        watch = Watch(self._client, [], None, room)

        def create(text: object) -> int:
            try:
                one = int(self._within(until, "Fleet.CreateTask", _wanted(room, role, text, "", trace))["id"])
            except TimeoutError as e:
                raise TimeoutError(f"not all tasks are created: {e}") from None
            watch.add(one)
            return one

        over = watch.read(None if until is None else until - now())
        try:
            with ThreadPoolExecutor(max_workers=max(parallel, 1)) as pool:
                made = list(pool.map(create, texts))
            found: Dict[int, Task] = {}
            lost: Dict[int, Task] = {}
            for place, one in enumerate(made):
                while one not in found:
                    t = over.get()
                    if t is None:
                        raise TimeoutError(f"{watch.left} of {len(made)} tasks are not over")
                    if isinstance(t, BaseException):
                        raise t
                    found[t.id] = t
                task = found.pop(one)
                if task.done and task.lost:
                    lost[place] = task
                else:
                    yield task
        finally:
            watch.end()
        if lost:
            raise ResultLost(next(iter(lost.values())), lost)

    def _within(self, end: Optional[float], method: str, message: Dict[str, Any],
                scope: Optional[Scope] = None) -> Dict[str, Any]:
        """A call that is repeated until end of the clock at most. TimeoutError: there was no answer until then."""
        if end is None:
            return self._client.call(method, message, scope=scope)
        left = end - now()
        if left <= 0:
            raise TimeoutError("the time is over")
        try:
            return self._client.call(method, message, timeout=min(left, self._client._retry_for), scope=scope)
        except errors.VigilError as e:
            if e.fleeting and now() >= end:
                raise TimeoutError(str(e)) from e
            raise


def _wanted(room: str, role: str, text: object, title: str, trace: str) -> Dict[str, Any]:
    """The task that is to be created."""
    body = text_of(text)
    message: Dict[str, Any] = {"room": room, "role": role, "title": title or title_of(body, role), "text": body}
    if trace:
        message["traceparent"] = trace
    return message


def _id(task: Union[int, Task]) -> int:
    return task.id if isinstance(task, Task) else int(task)


class Watch:
    """Waits for tasks: one reader of events tells which to look at."""

    def __init__(self, client: "Client", tasks: List[int], scope: Optional[Scope], room: str = "") -> None:
        self._client, self._room = client, room
        self._left: Set[int] = set(tasks)
        self._one = tasks[0] if len(tasks) == 1 else 0
        self._changed: List[int] = []
        self._turn = 0  # the last task that was looked at in turn
        self._wake = threading.Condition()
        self._stands = False  # the reader hears what happens from now on
        self._blind = False  # events may not be read: look now and then
        self._failure: Optional[BaseException] = None
        self._scope = Scope()
        self._outer = scope

    @property
    def left(self) -> int:
        """How many are not known to be over."""
        return len(self._left)

    def add(self, task: int) -> None:
        """Waits for one more, also while until looks at others."""
        with self._wake:
            self._left.add(task)
            self._changed.append(task)  # it may be over before anybody listens for it
            self._wake.notify_all()

    def end(self) -> None:
        """Ends it, also while another thread is in until."""
        self._scope.end()
        with self._wake:
            self._failure = Aborted()
            self._wake.notify_all()

    def read(self, limit: Optional[float]) -> "SimpleQueue[Union[Task, BaseException, None]]":
        """Reads what until gives, whether or not somebody takes it: a result that is read late may have been dropped.
        The last entry is the error with which that ended, or None when the time was over."""
        over: "SimpleQueue[Union[Task, BaseException, None]]" = SimpleQueue()

        def run() -> None:
            try:
                for task in self.until(limit):
                    over.put(task)
                over.put(None)
            except BaseException as e:
                over.put(e)

        threading.Thread(target=run, name="vigil-results", daemon=True).start()
        return over

    def until(self, limit: Optional[float]) -> Iterator[Task]:
        """The tasks as they get over. It waits for more until that takes longer than limit seconds."""
        end = None if limit is None else now() + limit
        reader = threading.Thread(target=self._read, name="vigil-events", daemon=True)
        reader.start()
        try:
            with self._wake:
                while not self._stands and not self._blind and self._failure is None:
                    if not self._rest(end):
                        return
                look, self._changed = sorted(self._left), []
            late = True
            while True:
                for one in look:
                    if one in self._left:
                        try:
                            task = Task(self._client.tasks._within(end, "Fleet.GetTask", {"task": one}, self._scope))
                        except TimeoutError:
                            return
                        if task.over:
                            self._left.discard(one)
                            yield task
                if late or not self._blind:  # else tasks that are added would put off all others
                    quiet = now()
                with self._wake:
                    while not self._changed and now() - quiet < self._span():
                        if self._failure is not None:
                            raise self._failure
                        if not self._rest(end, self._span()):
                            return
                    late = now() - quiet >= self._span()  # a server that froze tells nothing
                    look = list(dict.fromkeys(self._changed + (self._unheard() if late else [])))
                    self._changed = []
        finally:
            self._scope.end()

    def _span(self) -> float:
        """The seconds after which one looks at tasks of which nothing was heard."""
        return _LOOK if self._blind else _QUIET

    def _unheard(self) -> List[int]:
        """The tasks to look at then: all, or some in turn where that is often."""
        left = sorted(self._left)
        if self._blind:
            left = [one for one in left if one > self._turn][:_TURN] or left[:_TURN]
            self._turn = left[-1] if left else 0
        return left

    def _rest(self, end: Optional[float], most: Optional[float] = None) -> bool:
        """Waits for news; False when the time is over."""
        if self._outer is not None:
            self._outer.check()
        left = 0.2 if self._outer is not None else _QUIET
        if most is not None:
            left = min(left, most)
        if end is not None:
            left = min(left, end - now())
            if left <= 0:
                return False
        self._wake.wait(left)
        return True

    def _read(self) -> None:
        try:
            self._follow()
        except Aborted:
            pass
        except errors.Denied:  # an agent, whose role was granted nothing
            self._tell(blind=True)
        except BaseException as e:
            with self._wake:
                self._failure = e
                self._wake.notify_all()

    def _follow(self) -> None:
        while True:
            heard = False

            def stands() -> None:
                # Until its first event a watch that stands again has not heard what happened between.
                self._tell(changed=list(self._left) if self._stands and not heard else (), stands=True)

            try:
                for event in self._client.watch(room=self._room, task=self._one, scope=self._scope, stands=stands):
                    heard = True
                    if event.get("kind") == "room.canceled":  # which may tell for thousands of its tasks
                        self._tell(changed=list(self._left))
                    if event.get("kind", "").startswith("task.") and int(event.get("task", 0)) in self._left:
                        if event["kind"] not in ("task.claimed", "task.started", "task.created"):
                            self._tell(changed=[int(event["task"])])
            except errors.Compacted:  # too far behind: all may have changed
                self._tell(changed=list(self._left))

    def _tell(self, changed: Iterable[int] = (), stands: bool = False, blind: bool = False) -> None:
        with self._wake:
            self._changed += changed
            self._stands = self._stands or stands
            self._blind = self._blind or blind
            self._wake.notify_all()
