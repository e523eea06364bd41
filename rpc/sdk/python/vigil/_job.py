"""One claimed attempt at a task, as its handler sees it."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _errors as errors
from . import _trace, _usage
from ._clock import Span, duration, now, seconds
from ._errors import VigilError
from ._fork import anew, keep
from ._tasks import Task, text_of, title_of
from ._wire import Scope

if TYPE_CHECKING:
    from ._life import Life

log = logging.getLogger("vigil")

MAX_NOTE = 4 << 10  # bytes of a note of progress
MAX_OUTPUT = 1 << 20  # bytes of the output of a command that are kept
OWN = ("vigil", "watchdog")  # what vigil itself calls itself in mail to agents


class Retry(Exception):
    """Raised by a handler: this attempt has failed, another one may succeed.

    after is when the task is offered again at the earliest, in seconds: at most 30 days, longer ones are cut. Without
    it, and where it is past by now, the rules of the role say so.
    """

    def __init__(self, why: object = "", after: Optional[Span] = None) -> None:
        super().__init__(str(why) or "another attempt may succeed")
        self.after = after


class Handoff:
    """Returned by a handler: the task is completed with result, and the next role of the room gets a task, in one
    step."""

    def __init__(self, role: str, text: object = "", *, title: str = "", result: object = "",
                 priority: int = 0) -> None:
        self.role, self.text, self.result, self.priority = role, text_of(text), result, priority
        self.title = title or title_of(self.text, role)


class Stopping(VigilError):
    """The worker is about to end, by a signal or by stop()."""

    code = "stopping"
    remedy = "The worker is about to end."


class Mail:
    """One mail to this agent."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: Dict[str, Any] = dict(raw)
        self.id = int(raw["id"])
        self.sender = str(raw.get("from", ""))
        """An agent, or the name of a human or a tool."""
        self.subject = str(raw.get("subject", ""))
        self.body = str(raw.get("body", ""))
        self.kind = str(raw.get("kind", ""))
        self.thread = int(raw.get("thread", 0) or 0)
        self.reply_to = int(raw.get("reply_to", 0) or 0)

    def __repr__(self) -> str:
        return f"<Mail {self.id} from {self.sender}>"


class Job:
    """One claimed attempt at a task. Its handler may use it from any thread.

    What it says is refused with Superseded when the attempt is no longer the task's own: stop then, nothing counts
    any more. The worker sets cancelled and ends registered processes at the same moment.
    """

    def __init__(self, life: "Life", raw: Mapping[str, Any], attempt: int) -> None:
        self.task = Task(raw)
        self.id, self.room, self.role = self.task.id, self.task.room, self.task.role
        self.title = self.task.title
        self.text = self.task.text or self.task.title
        """What is to be done: the text of the task, or its title where it has no text."""
        self.attempt = attempt
        self.trace = _trace.checked(str(raw.get("traceparent", "")))
        """The W3C traceparent of this attempt, for spans of your own; "": nobody traces the task."""
        self.agent, self.incarnation = life.agent, life.incarnation
        self.resume = os.environ.get("VIGIL_RESUME", "")
        """What an earlier life has remembered; "": nothing."""
        self.cancelled = threading.Event()
        """Set when nobody wants the result any more; cause says why."""
        self.cause: Optional[VigilError] = None
        self.began = now()
        self._life = life
        self._lock = threading.Lock()
        self._running: List["_Running"] = []
        self._told: List[Callable[[], None]] = []
        self._scope = Scope()
        keep(self)

    def forked(self) -> None:
        self._lock = threading.Lock()
        self.cancelled = anew(self.cancelled)

    def __repr__(self) -> str:
        return f"<Job {self.id} of {self.agent}, attempt {self.attempt}>"

    def json(self) -> Any:
        """The text of the task, which was created with a value that is no text. ValueError: it is no JSON."""
        return json.loads(self.task.text)

    def check(self) -> None:
        """Raises the cause when nobody wants the result any more."""
        if self.cancelled.is_set():
            raise self.cause or errors.Superseded()

    def sleep(self, span: Span) -> None:
        """Waits so many seconds, and raises the cause when nobody wants the result any more."""
        self.cancelled.wait(seconds(span))
        self.check()

    def progress(self, note: object = "", *, percent: Optional[int] = None, expect: Optional[Span] = None) -> None:
        """Says that the work goes on: a note for people (at most 4 KiB are sent), how much is done (0 to 100), and
        how long the rest takes from now (seconds, 1 s to 30 days)."""
        message: Dict[str, Any] = {"text": clip(text_of(note), MAX_NOTE)}
        if percent is not None:
            message["percent"] = percent
        if expect is not None:
            message["expect"] = duration(expect)
        self._say("Work.ProgressTask", message)

    def expect(self, span: Span, note: object = "") -> None:
        """Says how long the rest takes from now, in seconds: until then a silent task does not count as stalled."""
        self.progress(note, expect=span)

    def declare(self, status: str = "", *, waiting: str = "", lasts: Optional[Span] = None, why: str = "") -> None:
        """Says how the agent is: status healthy, busy or degraded; waiting needs_input, sleeping or in_tool. lasts
        is how long that holds, in seconds; needed with waiting. why is for people, at most 1 KiB."""
        message: Dict[str, Any] = {"status": status, "waiting": waiting, "text": clip(why, 1024)}
        if lasts is not None:
            message["for"] = duration(lasts)
        self._speak("Work.Declare", message)

    def remember(self, value: str) -> None:
        """Keeps a value for the next life of this agent, usually the id of a conversation: it is the next one's
        job.resume. At most 4 KiB; "" forgets it."""
        self._speak("Work.SetResume", {"resume": value})

    def mail(self, to: str, subject: str, body: str = "", *, priority: str = "", kind: str = "",
             reply_to: int = 0) -> List[int]:
        """Sends mail to room (each agent), room/role or room/role.2, and gives the numbers of its copies. A subject
        has at most 256 bytes, a body 16 KiB; priority is urgent, high, normal or low."""
        answer = self._speak("Mailbox.SendMail", {"to": to, "subject": subject, "body": body, "priority": priority,
                                                  "kind": kind, "reply_to": reply_to or None})
        return [int(m) for m in answer["mails"]]

    def inbox(self, wait: Span = 0) -> List[Mail]:
        """Takes the unread mail of this agent, the most urgent first; where there is none it waits so many seconds
        for some. Mail comes again in the next life until it is acknowledged (ack)."""
        self.check()
        return self._life.kept() or self._mails(wait)

    def _mails(self, wait: Span) -> List[Mail]:
        until = now() + seconds(wait)
        while True:
            mails = [Mail(m) for m in self._speak("Mailbox.ReadMail", {})["mails"]]
            left = until - now()
            if mails or left <= 0:
                return mails
            self._life.park("Mailbox.WaitMail", min(left, 30.0), self._scope, self.check)

    def ack(self, mail: Union[int, Mail]) -> None:
        """Says that the agent has taken note of a mail, so that no later life gets it."""
        self._speak("Mailbox.AckMail", {"mail": mail.id if isinstance(mail, Mail) else mail})

    def ask(self, question: str, *, within: Span = 86400) -> Mail:
        """Asks a human and waits for the answer: the agent counts as waiting for a human and not as stuck, people see
        the question in their inbox, and what they send with `vigil mail send` to this agent is the answer.

        within is how long that may take, in seconds, at most 7 days; TimeoutError after that. Mail of agents and of
        vigil is no answer, and neither is what was sent before the question: inbox() gives all that.
        """
        until = now() + seconds(within)
        while mails := self._mails(0):
            self._life.kept(mails)
        self.expect(max(seconds(within), 1), "asked a human: " + question)
        self.declare(waiting="needs_input", lasts=max(seconds(within), 1), why=question)
        try:
            while now() < until:
                mails = self._mails(until - now())
                answer = next((m for m in mails if _answers(m)), None)
                self._life.kept([m for m in mails if m is not answer])
                if answer is not None:
                    self.ack(answer)
                    return answer
        finally:
            if not self.cancelled.is_set():
                self.declare("healthy")
        raise TimeoutError(f"nobody has answered within {seconds(within):g} s")

    def usage(self, tokens: int = 0, cost: float = 0.0, *, input: int = 0, output: int = 0) -> bool:
        """Adds what a model was used: tokens (or input and output apart) and cost in dollars. Budgets count them.

        It is told to the agentd of this host, so it needs a managed life whose runner says telemetry: true; False
        says that nobody took it. It never raises.
        """
        return _usage.tell(input + tokens, output, cost)

    def run(self, args: Sequence[str], *, input: Optional[str] = None, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[Span] = None, grace: Span = 10,
            check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Runs a command to its end, as subprocess.run does: stdout and stderr are text, of which the last MiB is
        kept. There is no shell. When nobody wants the result any more, or after timeout seconds, it and what it has
        started get SIGTERM, and SIGKILL after grace seconds."""
        process = self.popen(args, grace=grace, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env)
        ends = [_Tail(process.stdout), _Tail(process.stderr)]
        if input is not None:
            threading.Thread(target=_feed, args=(process.stdin, input), daemon=True).start()
        try:
            process.wait(None if timeout is None else seconds(timeout))
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(list(args), seconds(timeout or 0)) from None
        finally:
            end(process, seconds(grace))
            out, err = (e.text() for e in ends)
        self.check()
        done = subprocess.CompletedProcess(list(args), process.returncode, out, err)
        if check and process.returncode:
            last = (err.strip() or out.strip()).splitlines()[-1:] or [""]
            raise CommandFailed(f"{args[0]} has ended with {process.returncode}: {last[0][:300]}", done)
        return done

    def popen(self, args: Sequence[str], *, grace: Span = 10, **more: Any) -> "subprocess.Popen[bytes]":
        """Starts a command in a process group of its own and registers it, as run() does. It takes what
        subprocess.Popen takes. Where the task is traced it finds TRACEPARENT in its environment."""
        self.check()
        if self.trace:
            given = more.get("env")
            more["env"] = dict(os.environ if given is None else given, TRACEPARENT=self.trace)
        if os.name == "posix":
            more.setdefault("start_new_session", True)
        process: "subprocess.Popen[bytes]" = subprocess.Popen(list(args), **more)
        self.register(process, grace=grace)
        return process

    def register(self, process: "subprocess.Popen[Any]", *, grace: Span = 10) -> None:
        """Has a process ended when nobody wants the result any more, and when the handler returns before it."""
        one = _Running(process, seconds(grace))
        with self._lock:
            self._running = [r for r in self._running if r.process.poll() is None] + [one]
            late = self.cancelled.is_set()
        if late:
            one.end()

    def on_cancel(self, told: Callable[[], None]) -> None:
        """Has a function called, by another thread, when nobody wants the result any more."""
        with self._lock:
            if not self.cancelled.is_set():
                self._told.append(told)
                return
        told()

    # What follows is the worker's.

    def cancel(self, cause: VigilError) -> None:
        """Tells the handler that nobody wants the result any more."""
        with self._lock:
            if self.cancelled.is_set():
                return
            self.cause = cause
            self.cancelled.set()
            told, running = self._told, self._running
        self._scope.end()
        for one in running:
            one.end()
        for fn in told:
            try:
                fn()
            except Exception:
                log.exception("what was to be called at the end of %r has failed", self)

    def tidy(self) -> None:
        """Ends the processes that the handler has left, and waits for them."""
        with self._lock:
            running, self._running = self._running, []
        for one in running:
            end(one.process, one.grace)

    def _speak(self, method: str, message: Dict[str, Any]) -> Dict[str, Any]:
        """Says something as this life."""
        self.check()
        return self._life.say(method, message, self, self._scope)

    def _say(self, method: str, message: Dict[str, Any]) -> Dict[str, Any]:
        """Says something about the task."""
        message.update(task=self.id, attempt=self.attempt)
        return self._speak(method, message)


def _answers(mail: Mail) -> bool:
    """Tells whether a mail that has come after a question may be a human's answer. One that is handed over again, as
    after a reminder, is older than the question: who asks reads all that there is before."""
    return not mail.raw.get("from_incarnation") and not mail.raw.get("redelivered") and mail.sender not in OWN


class CommandFailed(Exception):
    """A command of Job.run has ended with another code than 0. process is what became of it."""

    def __init__(self, text: str, process: "subprocess.CompletedProcess[str]") -> None:
        super().__init__(text)
        self.process = process


class _Running:
    def __init__(self, process: "subprocess.Popen[Any]", grace: float) -> None:
        self.process, self.grace = process, grace

    def end(self) -> None:
        """Ends it without waiting for that."""
        threading.Thread(target=end, args=(self.process, self.grace), name="vigil-end", daemon=True).start()


def end(process: "subprocess.Popen[Any]", grace: float) -> None:
    """Ends a process, and its group where it has one of its own: SIGTERM, and SIGKILL after grace seconds."""
    if process.poll() is not None:
        return
    group = os.name == "posix" and _leads(process.pid)
    _signal(process, group, signal.SIGTERM)
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        pass
    _signal(process, group, getattr(signal, "SIGKILL", signal.SIGTERM))  # what it has left in its group, too
    process.wait()


def _signal(process: "subprocess.Popen[Any]", group: bool, number: int) -> None:
    try:
        if group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    except (ProcessLookupError, PermissionError):
        pass


def _leads(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


class _Tail:
    """Reads a stream to its end and keeps the last bytes."""

    def __init__(self, stream: Optional[IO[bytes]]) -> None:
        self._stream, self._kept = stream, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._stream is not None
        parts: List[bytes] = []
        size = 0
        while True:
            try:
                part = os.read(self._stream.fileno(), 65536)
            except (OSError, ValueError):
                part = b""
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > 2 * MAX_OUTPUT:
                parts = [b"".join(parts)[-MAX_OUTPUT:]]
                size = MAX_OUTPUT
        self._kept = b"".join(parts)[-MAX_OUTPUT:]

    def text(self) -> str:
        # What the command has left running may hold its output open.
        self._thread.join(2)
        if self._stream is not None and not self._thread.is_alive():
            self._stream.close()
        return self._kept.decode("utf-8", "replace")


def _feed(stream: Optional[IO[bytes]], text: str) -> None:
    assert stream is not None
    try:
        stream.write(text.encode())
        stream.close()
    except (OSError, ValueError):
        pass  # it reads no more


def clip(text: str, most: int) -> str:
    """The beginning of a text, most bytes of UTF-8 at most."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= most else raw[:most - 3].decode("utf-8", "ignore") + "..."
