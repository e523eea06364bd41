"""The same for asyncio: calls run in threads, those that may park each in one of its own, and cancelling one ends its
connection."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from ._client import Client
from ._clock import Span
from ._fork import keep
from ._form import Json, method_of
from ._job import Job, Mail
from ._tasks import Task
from ._trace import here
from ._wire import Aborted, Scope

T = TypeVar("T")
_THREADS = 64  # short calls under way at once, of all clients and jobs together
_END = object()

class _Threads:
    """Threads for short calls, of vigil alone. One costs nothing until it is needed."""

    def __init__(self) -> None:
        self.forked()
        keep(self)

    def forked(self) -> None:
        self._lock = threading.Lock()
        self._pool: Optional[ThreadPoolExecutor] = None

    def pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="vigil")
            return self._pool


_threads = _Threads()


async def _call(fn: Callable[..., T], *args: Any, **more: Any) -> T:
    """A call that is answered soon."""
    return await asyncio.get_running_loop().run_in_executor(_threads.pool(), functools.partial(fn, *args, **more))


async def _parked(fn: Callable[..., T], *args: Any, **more: Any) -> T:
    """A call that may last: in a thread of its own, so that any number of them hold up no short one."""
    loop = asyncio.get_running_loop()
    ended: "asyncio.Future[T]" = loop.create_future()

    def tell(value: Any, error: Optional[BaseException]) -> None:
        if ended.done():
            return  # nobody waits any more
        if error is None:
            ended.set_result(value)
        else:
            ended.set_exception(error)

    def run() -> None:
        value: Any = None
        error: Optional[BaseException] = None
        try:
            value = fn(*args, **more)
        except BaseException as e:
            error = e
        try:
            loop.call_soon_threadsafe(tell, value, error)
        except RuntimeError:
            pass  # the loop was closed

    threading.Thread(target=run, name="vigil-parked", daemon=True).start()
    return await ended


async def _scoped(fn: Callable[[Scope], T], parks: bool = True) -> T:
    """Calls fn in a thread; when the caller is cancelled its scope ends, and with it the call."""
    scope = Scope()
    try:
        return await (_parked if parks else _call)(fn, scope)
    except asyncio.CancelledError:
        scope.end()
        raise
    except Aborted:
        raise asyncio.CancelledError() from None


async def _iterate(make: Callable[[Scope], Iterator[T]]) -> AsyncIterator[T]:
    scope = Scope()
    it = make(scope)

    def step() -> Any:
        try:
            return next(it)
        except (StopIteration, Aborted):
            return _END

    try:
        while True:
            one = await _parked(step)
            if one is _END:
                return
            yield one
    finally:
        scope.end()


class AsyncClient:
    """Client for asyncio; see there. async with closes it."""

    def __init__(self, addr: Union[str, Sequence[str], None] = None, **more: Any) -> None:
        """Takes what Client takes."""
        self.sync = Client(addr, **more)
        """The client beneath."""
        self.tasks = AsyncTasks(self.sync)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """As Client.close."""
        await _call(self.sync.close)

    async def call(self, method: str, message: Optional[Mapping[str, Any]] = None, *,
                   timeout: Optional[Span] = None) -> Json:
        """As Client.call. A write that is cancelled may be done all the same."""
        m = method_of(method)
        return await _scoped(lambda scope: self.sync.call(method, message, timeout=timeout, scope=scope),
                             m.parked or m.long)

    def stream(self, method: str, message: Optional[Mapping[str, Any]] = None) -> AsyncIterator[Json]:
        """As Client.stream."""
        return _iterate(lambda scope: self.sync.stream(method, message, scope=scope))

    def events(self, room: str = "", *, since: Optional[int] = None, agent: str = "", task: int = 0,
               follow: bool = True) -> AsyncIterator[Json]:
        """As Client.events: async for event in client.events("web"): ..."""
        return _iterate(lambda scope: self.sync.events(room, since=since, agent=agent, task=task, follow=follow,
                                                       scope=scope))


class AsyncTasks:
    """Tasks for asyncio; see there."""

    def __init__(self, client: Client) -> None:
        self._tasks = client.tasks

    async def create(self, room: str, role: str, text: object = "", *, title: str = "", priority: int = 0,
                     expect: Optional[Span] = None, after: Optional[Span] = None,
                     traceparent: Optional[str] = None, key: str = "") -> Task:
        """As Tasks.create."""
        return await _call(self._tasks.create, room, role, text, title=title, priority=priority, expect=expect,
                           after=after, traceparent=here() if traceparent is None else traceparent,
                           key=key)

    async def get(self, task: Union[int, Task]) -> Task:
        """As Tasks.get."""
        return await _call(self._tasks.get, task)

    async def list(self, room: str = "", role: str = "", states: Iterable[str] = ()) -> List[Task]:
        """As Tasks.list, all at once."""
        return await _call(lambda: [*self._tasks.list(room, role, states)])

    async def cancel(self, task: Union[int, Task]) -> Task:
        """As Tasks.cancel."""
        return await _call(self._tasks.cancel, task)

    async def wait(self, task: Union[int, Task], *, timeout: Optional[Span] = None, check: bool = True) -> Task:
        """As Tasks.wait."""
        return await _scoped(lambda scope: self._tasks.wait(task, timeout=timeout, check=check, scope=scope))


class AsyncJob:
    """Job for asyncio: what says something is awaited. When nobody wants the result any more the coroutine of the
    handler is cancelled. What is named in Job and not here is the same here."""

    def __init__(self, job: Job) -> None:
        self.sync = job
        """The job beneath."""
        self.task, self.id, self.attempt = job.task, job.id, job.attempt
        self.room, self.role, self.title, self.text = job.room, job.role, job.title, job.text
        self.agent, self.incarnation, self.resume = job.agent, job.incarnation, job.resume
        self.trace = job.trace
        self.cancelled = job.cancelled

    def json(self) -> Any:
        """As Job.json."""
        return self.sync.json()

    async def progress(self, note: object = "", *, percent: Optional[int] = None,
                       expect: Optional[Span] = None) -> None:
        """As Job.progress."""
        await _call(self.sync.progress, note, percent=percent, expect=expect)

    async def expect(self, span: Span, note: object = "") -> None:
        """As Job.expect."""
        await _call(self.sync.expect, span, note)

    async def declare(self, status: str = "", *, waiting: str = "", lasts: Optional[Span] = None,
                      why: str = "") -> None:
        """As Job.declare."""
        await _call(self.sync.declare, status, waiting=waiting, lasts=lasts, why=why)

    async def remember(self, value: str) -> None:
        """As Job.remember."""
        await _call(self.sync.remember, value)

    async def mail(self, to: str, subject: str, body: str = "", *, priority: str = "", kind: str = "",
                   reply_to: int = 0) -> List[int]:
        """As Job.mail."""
        return await _call(self.sync.mail, to, subject, body, priority=priority, kind=kind, reply_to=reply_to)

    async def inbox(self, wait: Span = 0) -> List[Mail]:
        """As Job.inbox."""
        return await (_parked if wait else _call)(self.sync.inbox, wait)

    async def ack(self, mail: Union[int, Mail]) -> None:
        """As Job.ack."""
        await _call(self.sync.ack, mail)

    async def ask(self, question: str, *, within: Span = 86400) -> Mail:
        """As Job.ask."""
        return await _parked(self.sync.ask, question, within=within)

    async def usage(self, tokens: int = 0, cost: float = 0.0, *, input: int = 0, output: int = 0) -> bool:
        """As Job.usage."""
        return await _call(self.sync.usage, tokens, cost, input=input, output=output)

    async def run(self, args: Sequence[str], *, input: Optional[str] = None, cwd: Optional[str] = None,
                  env: Optional[Mapping[str, str]] = None, timeout: Optional[Span] = None, grace: Span = 10,
                  check: bool = True) -> "subprocess.CompletedProcess[str]":
        """As Job.run."""
        return await _parked(self.sync.run, args, input=input, cwd=cwd, env=env, timeout=timeout, grace=grace,
                             check=check)

    def register(self, process: "subprocess.Popen[Any]", *, grace: Span = 10) -> None:
        """As Job.register."""
        self.sync.register(process, grace=grace)
