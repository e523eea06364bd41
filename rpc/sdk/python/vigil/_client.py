"""The client of a whole cluster: it finds the leader, and repeats what may be repeated."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import urlencode

from . import _errors as errors
from ._calls import Method
from ._clock import Span, now, seconds
from ._errors import VigilError
from ._fork import anew, keep
from ._form import Json, error_of, failure, message_of, method_of, object_of, park, request_of
from ._servers import Route, Servers
from ._sessions import Sessions, Ticket
from ._trial import Trial
from ._where import find
from ._wire import MAX_BODY, Aborted, Answer, Late, Lost, Scope, Wire


log = logging.getLogger("vigil")

RETRY_FOR = 300.0  # s that a call is repeated: the cluster forgets a session after 10 min
ATTEMPT = 5.0  # s that one attempt may wait for its answer
LEAST = 0.25  # s that it may wait in any case, as far as its call has them
LONG = 600.0  # s that a call which may take minutes may
QUIET = 90.0  # s that a stream of events may say nothing: servers say something every 15 s
HOPS = 3  # from server to server before a call waits
RENEWALS = 3  # times that one write may find its session forgotten
CLOSE = 0.25  # s for the good-bye of a client


class Client:
    """A client of a whole cluster. One for a process is enough; any number of threads may use it.

    Where the servers are, is found as by the command line: addr (host:port, or several of them), a context,
    VIGIL_SOCKET (the socket of a managed life, which needs nothing else), VIGIL_ADDR, VIGIL_CONTEXT, the selected
    context, 127.0.0.1:7420. Who asks: the identity of that context, the folder in VIGIL_IDENTITY, or an API token
    (token, or VIGIL_API_TOKEN) with the file of the root to trust (roots, or VIGIL_ROOTS).

    Each call finds the leader and follows it, and is repeated under the same write id while that is safe, for
    retry_for (300 s at most), so that a write is done once. Its errors are VigilError, a class for each code.
    After Timeout, Unavailable, UnknownOutcome and TooOld it is not known whether a write was done. After os.fork() the
    client of the child is one of its own, with its own connections and numbers.
    """

    def __init__(self, addr: Union[str, Sequence[str], None] = None, *, context: Optional[str] = None,
                 identity: Optional[str] = None, token: Optional[str] = None, roots: Optional[str] = None,
                 name: str = "python", retry_for: Span = RETRY_FOR, attempt: Span = ATTEMPT) -> None:
        """ValueError says what is wrong with where or who. Nothing is sent yet.

        name is shown in the cluster's list of sessions; attempt is how long one attempt waits for an answer
        before the next server is asked.
        """
        self._place = find(addr, context, identity, token, roots)
        self._servers = Servers(self._place)
        self._sessions = Sessions()
        self._name = name
        self._retry_for = min(max(seconds(retry_for), 0.0), RETRY_FOR)
        self._attempt = max(seconds(attempt), 0.01)
        self._closed = threading.Event()
        self._extra: List[str] = [f"User-Agent: vigil-python/{_version()}"]
        if self._place.token:
            self._extra.append("Authorization: Bearer " + self._place.token)
        from ._tasks import Tasks
        self.tasks = Tasks(self)
        keep(self)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def servers(self) -> List[str]:
        """The addresses that the client knows: those that the cluster has named last, then the configured ones."""
        return list(self._servers.addrs)

    def close(self) -> None:
        """Ends the client: calls under way fail. It takes 0.25 s at most."""
        if self._closed.is_set():
            return
        for number in self._sessions.idle()[:32] if self._servers.reached else []:
            try:
                self._single("Work.CloseSession", {"session": number}, CLOSE)
            except (VigilError, Aborted):
                break  # it lapses by itself
        self._closed.set()
        self._servers.close()

    def call(self, method: str, message: Optional[Mapping[str, Any]] = None, *, timeout: Optional[Span] = None,
             scope: Optional[Scope] = None) -> Json:
        """Any call of the API by its name, such as "Fleet.GetRoom", with a message as a dictionary.

        The answer is a dictionary in the form of docs/guide/own-agent.md: numbers of 64 bits are text, spans are
        "1.5s", what is not set is absent. timeout bounds all attempts together, in seconds. For streams see
        stream(). VigilError as each call; ValueError for a method or field that does not exist.
        """
        m = method_of(method)
        if m.streams:
            raise ValueError(f"{method} is a stream: use stream()")
        message = dict(message or {})
        if m.numbered and "id" not in message:
            return self._write(method, m, message, timeout, scope)
        t = Trial(self._until(timeout), scope)
        return self._repeat(method, m, message, t, None, m.repeat)

    def stream(self, method: str, message: Optional[Mapping[str, Any]] = None, *,
               scope: Optional[Scope] = None) -> Iterator[Json]:
        """The messages of a streaming call. A server that cannot be reached is passed over; once it has begun it
        is not opened again: its end by an error is a VigilError, and who reads goes on from what was read."""
        m = method_of(method)
        if not m.streams:
            raise ValueError(f"{method} is no stream: use call()")
        return self._stream(method, m, dict(message or {}), scope)

    def events(self, room: str = "", *, since: Optional[int] = None, agent: str = "", task: int = 0,
               follow: bool = True, scope: Optional[Scope] = None) -> Iterator[Json]:
        """What happens, an event at a time: {"seq": ..., "kind": "task.completed", "room": ..., ...}.

        since is the seq of an event: those after it come, 0 means from the oldest kept; None: only what happens
        from now on. It goes on where it was when a server or leader is lost. With follow=False it ends with the
        newest event. Compacted says that what should come next is no longer kept.
        """
        return self.watch(room=room, since=since, agent=agent, task=task, follow=follow, scope=scope)

    def watch(self, *, room: str = "", since: Optional[int] = None, agent: str = "", task: int = 0,
              follow: bool = True, scope: Optional[Scope] = None,
              stands: Optional[Callable[[], None]] = None) -> Iterator[Json]:
        """events(), which calls stands each time when the watch stands: what happens from then on will come."""
        request: Json = {"no_follow": not follow, "room": room, "agent": agent, "task": task or None}
        if since is None and follow:
            request["tail"] = True
        elif since:
            request["after"] = since
        t, stood = Trial(self._retry_for, scope), 0.0

        def begun() -> None:
            nonlocal stood
            stood = now()
            if stands is not None:
                stands()

        while True:
            t.sends()
            stood = 0.0
            try:
                for event in self._sse("/v1/events", request, scope, begun):
                    request["after"] = event["seq"]
                    request.pop("tail", None)
                    yield event
                if not follow:
                    return
                lost: VigilError = errors.Unavailable("the stream of events has ended")
            except VigilError as e:
                if not e.fleeting:
                    raise
                lost = e
            # However quiet it was, what is tried from now on is the next stream; one that ends at once is like none.
            if stood and now() - stood >= min(1, self._retry_for):
                t = Trial(self._retry_for, scope)
            t.last = lost
            if t.over(self._attempt):
                raise lost
            t.tries += 1
            t.pause()

    # What follows is the machinery.

    def _until(self, timeout: Optional[Span]) -> float:
        return self._retry_for if timeout is None else seconds(timeout)

    def forked(self) -> None:
        """Is called in a child after a fork."""
        self._closed = anew(self._closed)
        self._sessions.forked()
        self._servers.forked()

    def _open_session(self, of: Trial) -> str:
        """Opens a session for a write, within its time."""
        t = Trial(min(max(of.left(), 0.0), self._retry_for), of.scope)
        m = method_of("Work.OpenSession")
        return str(self._repeat("Work.OpenSession", m, {"client": self._name}, t, None, m.repeat)["session"])

    def _write(self, method: str, m: Method, message: Json, timeout: Optional[Span], scope: Optional[Scope]) -> Json:
        """Numbers a write and repeats it under that number."""
        t = Trial(self._until(timeout), scope)
        for n in range(RENEWALS + 1):
            try:
                ticket = self._sessions.take(lambda: self._open_session(t))
            except errors.Full:  # what frees something must get through: without a number, so not repeated
                return self._repeat(method, m, message, Trial(t.until, scope), None, "unsent")
            try:
                return self._repeat(method, m, message, t, ticket, m.repeat)
            except errors.UnknownSession:
                # Within the limit no attempt can have been carried out in a session that has ended since.
                self._sessions.drop(ticket)
                late = t.elapsed() >= t.until
                if late and t.last is not None:
                    raise _out_of_time(t, t.last) from None  # an earlier attempt may have been carried out
                if late or n == RENEWALS:
                    raise
                t.maybe = False
            finally:
                self._sessions.put(ticket)
        raise errors.UnknownSession()

    def _single(self, method: str, message: Json, timeout: float, scope: Optional[Scope] = None) -> Json:
        """One attempt, which is never repeated: of beats, and of what is worth nothing later."""
        return self._repeat(method, method_of(method), message, Trial(timeout, scope), None, "once")

    def _repeat(self, method: str, m: Method, message: Json, t: Trial, ticket: Optional[Ticket],
                repeat: str) -> Json:
        request = request_of(method, m, message)
        # A session of which nobody knows is nothing: the write that it was to number was not sent.
        t.changes = request[0] != "GET" and method != "Work.OpenSession"
        while True:
            if self._closed.is_set():
                raise errors.Closed()
            if t.scope is not None:
                t.scope.check()
            if t.last is not None and t.over(self._attempt):
                raise _out_of_time(t, t.last)
            try:
                return self._once(m, message, request, t, ticket, repeat)
            except _Again as again:
                t.last = again.error
                if not t.warned and now() - t.began > 5:
                    t.warned = True
                    log.warning("%s has no answer yet, still trying: %s", method, again.error)
                if again.wait:
                    t.pause()

    def _once(self, m: Method, message: Json, request: Tuple[str, str, Optional[bytes]], t: Trial,
              ticket: Optional[Ticket], repeat: str) -> Json:
        """One attempt. _Again asks for another one."""
        t.tries += 1
        t.sends()
        route = self._servers.park if m.parked else self._servers.lead
        try:
            # What is said once is worth nothing later, so finding a server is part of its time.
            wire = self._servers.wire(route, t.scope, t.began + t.until if repeat == "once" else float("inf"))
        except errors.Unavailable as e:
            self._again(e, True, repeat in ("always", "unsent"))
        left = max(t.left(), 0.001)
        if m.parked:
            limit = park(message) + self._attempt
        else:
            limit = min(left, LONG if m.long else self._attempt)
            if repeat == "always":  # what has little time, such as a good-bye, asks another server within it
                limit = min(limit, max(left / 2, LEAST))
        verb, path, body = request
        headers = list(self._extra)
        if ticket is not None:
            headers.append("Idempotency-Key: " + ticket.key)
        headers += _said(t)
        try:
            answer = self._exchange(wire, verb, path, headers, body, limit, t.scope)
        except Late as e:
            t.unanswered()
            self._servers.leave(route, wire.addr)
            if t.last is not None and limit == left and t.over(self._attempt):
                raise _out_of_time(t, t.last) from None  # this attempt was cut short: the one before tells why
            self._again(errors.Timeout(str(e)), False, repeat == "always")
        except Lost as e:
            t.unanswered()
            self._servers.failed(wire.addr, str(e))
            self._again(errors.Unavailable(str(e)), False, repeat == "always")
        leader = answer.headers.get("vigil-leader", "")
        if "vigil-servers" in answer.headers:
            self._servers.learn(answer.headers["vigil-servers"])
        if 200 <= answer.status < 300:
            if leader:
                self._servers.follow(leader)
            return object_of(answer)
        return self._judge(route, wire.addr, t, failure(answer, leader), repeat)

    def _exchange(self, wire: Wire, verb: str, path: str, headers: List[str], body: Optional[bytes], limit: float,
                  scope: Optional[Scope]) -> Answer:
        try:
            if scope is not None:
                scope.hold(wire)
            return wire.exchange(verb, path, headers, body, limit)
        except Lost:
            if scope is not None:
                scope.check()
            raise
        finally:
            if scope is not None:
                scope.drop(wire)
            self._servers.give(wire)

    def _judge(self, route: Route, addr: str, t: Trial, e: VigilError, repeat: str) -> Json:
        """Decides what the error of a server means for the route and for the call."""
        if e.fate == "open":
            t.unanswered()
        unsent = repeat in ("always", "unsent")
        if isinstance(e, errors.NotLeader) and e.leader and t.hops < HOPS and self._servers.follow(e.leader):
            t.hops += 1
            self._again(e, False, unsent)
        if isinstance(e, (errors.AuthDenied, errors.AuthExpired)) and not t.fresh and self._servers.secure:
            # Nothing was done. The connection may have shown a certificate that was renewed since.
            t.fresh = True
            self._servers.redial()
            self._again(e, False, repeat != "once")
        if e.fleeting:
            self._servers.leave(route, addr)
            self._again(e, True, repeat == "always" or unsent and e.fate == "elsewhere")
        elif e.leader:
            self._servers.follow(e.leader)
        raise e

    def _again(self, e: VigilError, wait: bool, may: bool) -> "Any":
        if may:
            raise _Again(e, wait)
        raise e

    def _stream(self, method: str, m: Method, message: Json, scope: Optional[Scope]) -> Iterator[Json]:
        verb, path, body = request_of(method, m, message)
        for line in self._lines(verb, path, self._extra, body, scope, None):
            if line.strip():
                yield message_of(line)

    def _sse(self, path: str, request: Json, scope: Optional[Scope],
             stands: Optional[Callable[[], None]]) -> Iterator[Json]:
        """Server-sent events: their headers say that the watch stands, before anything has happened."""
        pairs = [(k, "true" if v is True else str(v)) for k, v in request.items() if v]
        headers = self._extra + ["Accept: text/event-stream"]
        kind = ""
        for line in self._lines("GET", path + ("?" + urlencode(pairs) if pairs else ""), headers, None, scope, stands):
            if line.startswith(b"event: "):
                kind = line[7:].decode("utf-8", "replace")
            elif line.startswith(b"data: "):
                try:
                    value = json.loads(line[6:])
                except ValueError:
                    raise errors.Internal("the server has sent an event that is no JSON") from None
                if kind == "error":
                    raise error_of(value)
                yield value

    def _lines(self, verb: str, path: str, headers: List[str], body: Optional[bytes], scope: Optional[Scope],
               stands: Optional[Callable[[], None]], fresh: bool = False) -> Iterator[bytes]:
        """The lines of an answer as they come. fresh: the identity was just read anew."""
        if self._closed.is_set():
            raise errors.Closed()
        wire = self._servers.wire(self._servers.park, scope)
        try:
            if scope is not None:
                scope.hold(wire)
            wire.send(verb, path, headers, body, self._attempt)
            status, head = wire.head(now() + self._attempt)
            if status != 200:
                text = b"".join(wire.chunks(head, now() + self._attempt))
                e = failure(Answer(status, head, text), head.get("vigil-leader", ""))
                if isinstance(e, (errors.AuthDenied, errors.AuthExpired)) and not fresh and self._servers.secure:
                    self._servers.redial()  # as _judge does
                    yield from self._lines(verb, path, headers, body, scope, stands, True)
                    return
                if e.fleeting:
                    self._servers.leave(self._servers.park, wire.addr)
                raise e
            if stands is not None:
                stands()
                wire.quiet = QUIET
            rest = b""
            for part in wire.chunks(head, float("inf")):
                rest += part
                if len(rest) > MAX_BODY:
                    raise Lost(f"server {wire.addr} sends more than {MAX_BODY} bytes", True)
                *lines, rest = rest.split(b"\n")
                yield from lines
        except Lost as lost:
            if scope is not None:
                scope.check()
            if isinstance(lost, Late):
                self._servers.leave(self._servers.park, wire.addr)
            else:
                self._servers.failed(wire.addr, str(lost))
            raise errors.Unavailable(str(lost)) from None
        finally:
            if scope is not None:
                scope.drop(wire)
            wire.close()


class _Again(Exception):
    """Another attempt may get an answer."""

    def __init__(self, error: VigilError, wait: bool) -> None:
        super().__init__()
        self.error, self.wait = error, wait


def _version() -> str:
    from . import __version__
    return __version__


def _said(t: Trial) -> List[str]:
    """What an agent says renews its lease only when it has just said it, so calls say how old they are."""
    if t.tries > 1:
        return ["Vigil-Repeat: 1"]
    age = int(t.elapsed() * 1000)
    return [f"Vigil-Said: {age}"] if age > 0 else []


def _out_of_time(t: Trial, last: VigilError) -> VigilError:
    """last tells of the last attempt. An earlier one may have been carried out: whoever believed that nothing was would
    do it twice."""
    text = "there was no answer in time; the last attempt: " + str(last)
    if t.maybe:
        text = "it may have been done: " + text
    if t.maybe and last.fate != "open":
        return errors.UnknownOutcome(text, leader=last.leader)
    e = type(last)(text, rev=last.rev, leader=last.leader)
    e.code = last.code
    return e


