"""A function that is a worker: the decorator, and the loop around it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import queue
import signal
import threading
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Tuple, Type, Union, cast

from . import _trace
from ._client import Client
from ._clock import now
from ._end import MAX_REASON, End, later, made
from ._errors import VigilError
from ._fork import keep
from ._job import Handoff, Job, Retry, Stopping, clip
from ._life import LEAVE, Life
from ._tasks import MAX_RESULT, text_of
from ._who import who
from ._wire import Aborted

log = logging.getLogger("vigil")

Handler = Union[Callable[[Job], Any], Callable[[Any], Awaitable[Any]]]
RetryOn = Tuple[Type[BaseException], ...]

_workers: List["Worker"] = []


class _Signal(BaseException):
    """A signal asks the worker to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Worker:
    """A function with a role: what @vigil.worker makes. Calling it calls the function."""

    def __init__(self, role: str, fn: Handler, retry_on: RetryOn, client: Optional[Client]) -> None:
        self.role, self.fn, self.retry_on = role, fn, retry_on
        self.__doc__, self.__name__ = fn.__doc__, getattr(fn, "__name__", role)
        self._client = client
        self._stop: Optional[str] = None  # why it is to end
        self._open = False  # a signal may interrupt what runs now
        self._lock = threading.Lock()
        self._life: Optional[Life] = None
        self._job: Optional[Job] = None
        keep(self)

    def forked(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, job: Any) -> Any:
        return self.fn(job)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fn)

    def run(self) -> None:
        """Is the agent: joins, waits for tasks, calls the function for each, and leaves.

        It returns after SIGTERM, Ctrl-C or stop(), and raises what has ended the life: Superseded when a newer life
        has begun, Stopped when a human has stopped the agent, Denied; Conflict where all agents of the role are
        taken. A task under way is given back then. Servers that are away are waited for.
        """
        if self.is_async:
            asyncio.run(self.serve())
            return
        with _Signals(self._signalled, self._tell):
            self._work(self._direct)

    async def serve(self) -> None:
        """Is the agent, within a running event loop. Cancelling it ends the worker. A function that is no coroutine
        is called in a thread."""
        loop = asyncio.get_running_loop()
        handled = []
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                try:
                    loop.add_signal_handler(number, self.stop, signal.Signals(number).name)
                    handled.append(number)
                except (NotImplementedError, ValueError, RuntimeError):
                    pass  # a platform, or a loop, without them
        call = self._on_loop(loop) if self.is_async else self._direct
        ended: "asyncio.Future[None]" = loop.create_future()

        def work() -> None:
            error: Optional[BaseException] = None
            try:
                self._work(call)
            except BaseException as e:
                error = e
            loop.call_soon_threadsafe(tell, error)

        def tell(error: Optional[BaseException]) -> None:
            if ended.done():
                return
            if error is None:
                ended.set_result(None)
            else:
                ended.set_exception(error)

        threading.Thread(target=work, name="vigil-work", daemon=True).start()
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop("the worker was cancelled")
            await asyncio.wait([ended])
            raise
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def stop(self, why: str = "the worker was stopped") -> None:
        """Has run() return soon: a task under way is cancelled and given back. Any thread may call it."""
        self._stop = self._stop or why
        self._tell()

    # What follows is the loop.

    def _tell(self) -> None:
        """Ends what goes on, where the worker is to end."""
        with self._lock:
            why, life, job = self._stop, self._life, self._job
        if why is None:
            return
        if life is not None:
            life.interrupt()
        if job is not None:
            job.cancel(Stopping(why))

    def _signalled(self, number: int) -> None:
        """In the handler, which may have interrupted whoever holds any of the locks: it takes none."""
        life, was = self._life, self._open
        if life is not None and life.elsewhere:  # it was sent to a child that the function has forked
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._open = False
        self._stop = self._stop or signal.Signals(number).name
        if was:
            raise _Signal(number)

    def _work(self, call: Callable[[Job], Any]) -> None:
        client = self._client or Client(name=f"python {self.role}")
        life = Life(client, who(self.role))
        with self._lock:
            self._life = life
            if self._stop is not None:
                return
        try:
            try:
                life.join()
            except Aborted:
                return
            log.info("%s, life %d, waits for tasks", life.agent, life.incarnation)
            self._loop(life, call)
        finally:
            if not life.elsewhere:
                life.leave(self._stop or "the worker ended")
            if self._client is None:
                client.close()
            with self._lock:
                self._life, self._job, self._stop = None, None, None
        if life.over is not None:
            raise life.over

    def _loop(self, life: Life, call: Callable[[Job], Any]) -> None:
        job: Optional[Job] = None
        while self._stop is None and life.over is None:
            try:
                if job is None:
                    self._open = True
                    try:
                        job = life.wait()
                    finally:
                        self._open = False
            except (Aborted, _Signal):
                continue
            with self._lock:
                self._job = job
                stop = self._stop
            if stop is not None:
                job.cancel(Stopping(stop))
            job = self._one(life, job, call)

    def _one(self, life: Life, job: Job, call: Callable[[Job], Any]) -> Optional[Job]:
        """Does one job, and gives the next one where that came with its end."""
        began = now()
        end = self._outcome(job, call)
        job.tidy()
        with self._lock:
            self._job = None
        if end is None or life.over is not None:
            given_back = isinstance(job.cause, Stopping) and life.over is None
            log.info("task %d (attempt %d) is %s: %s", job.id, job.attempt,
                     "given back" if given_back else "not wanted any more", job.cause)
            return None
        log.info("task %d (attempt %d) took %.1f s%s", job.id, job.attempt, now() - began,
                 ": " + " ".join(end.failure.split()) if end.failure else "")
        if self._stop is None:
            try:
                return life.next(job, end)
            except Aborted:  # it is to end
                if life.over is not None:
                    return None
        try:
            life.finish(job, end, LEAVE)  # what was done is said even when the worker is about to end
        except VigilError as e:
            if e.fleeting and life.spool(job, end):
                log.warning("task %d: no server answers, its result is left with agentd: %s", job.id, e)
            else:
                log.warning("task %d is given back: its end could not be said: %s", job.id, e)
        return None

    def _outcome(self, job: Job, call: Callable[[Job], Any]) -> Optional[End]:
        """Calls the function; None when nobody wants the result any more, or it was stopped before it had one: that
        is no failure, and the task goes back to its role as the life leaves."""
        error: Optional[BaseException] = None
        value: Any = None
        pid = os.getpid()
        try:
            self._open = True
            try:
                if job.cancelled.is_set():
                    raise _Signal(0)
                value = call(job)
            finally:
                self._open = False
        except BaseException as e:
            error = e
        if os.getpid() != pid:  # the function has forked, and this is the child: the parent says how the job ends
            raise error or SystemExit(0)
        if isinstance(error, _Signal) or error is not None and self._stop is not None:
            self._tell()  # whoever was to do so may not have come to it yet
        stopping = isinstance(job.cause, Stopping)
        if job.cancelled.is_set() and not stopping:
            return None
        if error is not None:
            return None if stopping else self._failed(job, error)
        if isinstance(value, Handoff):
            return self._result(value.result, value)
        return self._result(value, None)

    def _result(self, value: Any, handoff: Optional[Handoff]) -> End:
        try:
            text = text_of(value)
        except (TypeError, ValueError) as e:
            return End(failure=f"the result is neither text nor JSON: {e}")
        size = len(text.encode("utf-8", "replace"))
        if size > MAX_RESULT:
            return End(failure=f"the result has {size} bytes, at most {MAX_RESULT} are taken, and its beginning is kept "
                               "with the task: put it into a file and return where that is",
                       result=made(text, handoff))
        return End(result=text, handoff=handoff)

    def _failed(self, job: Job, e: BaseException) -> End:
        """What an exception says: its type and message, never where it was raised or what was near."""
        if isinstance(e, Retry):
            return End(failure=clip(str(e), MAX_REASON), retryable=True, after=later(e.after))
        log.error("task %d (attempt %d) has failed", job.id, job.attempt, exc_info=(type(e), e, _own(e)))
        retryable = isinstance(e, self.retry_on) or isinstance(e, VigilError) and not e.final \
            or not isinstance(e, Exception)
        return End(failure=clip(f"{type(e).__name__}: {e}".rstrip(": "), MAX_REASON), retryable=retryable)

    def _direct(self, job: Job) -> Any:
        token = _trace.current.set(job.trace)
        try:
            return self.fn(job)
        finally:
            _trace.current.reset(token)

    def _on_loop(self, loop: asyncio.AbstractEventLoop) -> Callable[[Job], Any]:
        from ._aio import AsyncJob
        fn = cast(Callable[[AsyncJob], Awaitable[Any]], self.fn)

        def call(job: Job) -> Any:
            box: Dict[str, Any] = {}
            ended = threading.Event()

            async def one() -> None:
                _trace.current.set(job.trace)  # of this coroutine's own context
                try:
                    box["value"] = await fn(AsyncJob(job))
                except BaseException as e:
                    box["error"] = e
                    if isinstance(e, (KeyboardInterrupt, SystemExit)):
                        raise
                finally:
                    ended.set()

            def cancel() -> None:
                loop.call_soon_threadsafe(box["task"].cancel)

            def start() -> None:
                box["task"] = loop.create_task(one())
                job.on_cancel(cancel)

            loop.call_soon_threadsafe(start)
            ended.wait()
            if "error" in box:
                raise box["error"]
            return box.get("value")

        return call


def _own(e: BaseException) -> Optional[TracebackType]:
    """The part of a traceback that is not of this package."""
    tb = e.__traceback__
    while tb is not None and os.path.dirname(tb.tb_frame.f_code.co_filename) == os.path.dirname(__file__):
        tb = tb.tb_next
    return tb or e.__traceback__


class _Signals:
    """Hands SIGTERM and SIGINT to a worker that runs in the main thread."""

    def __init__(self, told: Callable[[int], None], then: Callable[[], None]) -> None:
        self._told, self._then = told, then
        self._before: Dict[int, Any] = {}
        # The one thing that a handler may do whatever it has interrupted: put() of this queue takes no lock.
        self._came: "queue.SimpleQueue[bool]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._follow, name="vigil-signals", daemon=True)

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._thread.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._handle)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._before:
            self._came.put(False)

    def _handle(self, number: int, _: object) -> None:
        try:
            self._told(number)
        finally:
            self._came.put(True)

    def _follow(self) -> None:
        """Does what takes locks, in a thread of its own."""
        while self._came.get():
            self._then()


def worker(role: str, *, retry_on: Union[Type[BaseException], Sequence[Type[BaseException]]] = (),
           client: Optional[Client] = None) -> Callable[[Handler], Worker]:
    """Makes a function the worker of a role, such as "web/builder"; "web/builder.2" is that agent alone.

    The function gets a Job, or an AsyncJob when it is a coroutine, and what it returns is the result of the task:
    text as it is, anything else as JSON, at most 256 KiB; a Handoff gives the next role its task in the same step.
    An exception fails the task for good, with its type and message; Retry, those of retry_on, and errors of vigil that
    may pass fail the attempt only. vigil.run() or the worker's run() makes this process the agent.
    """
    kinds = (retry_on,) if isinstance(retry_on, type) else tuple(retry_on)

    def make(fn: Handler) -> Worker:
        w = Worker(role, fn, kinds, client)
        _workers.append(w)
        return w

    return make


def run(verbose: bool = True) -> None:
    """Is the agent of the worker of this program: Worker.run(). Of several workers, that of the life's own role.

    verbose: what happens is told on standard error, unless logging is set up already. ValueError: there is no worker,
    or it is not known which of several is meant.
    """
    if verbose and not logging.getLogger().handlers and not log.handlers:
        logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    _chosen().run()


def _chosen() -> Worker:
    if len(_workers) == 1:
        return _workers[0]
    own = os.environ.get("VIGIL_AGENT", "").partition(".")[0]
    fits = [w for w in _workers if w.role.partition(".")[0] == own]
    if len(fits) == 1:
        return fits[0]
    if not _workers:
        raise ValueError("there is no worker: put @vigil.worker(\"room/role\") above a function")
    names = ", ".join(w.role for w in _workers)
    raise ValueError(f"a process is one agent, and there are workers of {names}: call run() of one of them, or say "
                     "which with VIGIL_AGENT")


