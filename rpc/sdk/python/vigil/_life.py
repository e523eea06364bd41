"""One life of an agent: it joins its room, beats, waits for tasks, and leaves."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from . import _errors as errors
from . import _spool
from ._client import Client
from ._clock import duration, now, read_duration
from ._end import End, unfit
from ._errors import VigilError
from ._fork import anew, keep
from ._job import Job, Mail
from ._trial import Trial
from ._who import Who
from ._wire import Aborted, Scope

log = logging.getLogger("vigil")

MAX_WAIT = 60.0  # s that one parked call lasts
LEAVE = 3.0  # s for the good-bye
AGAIN = 1.0  # s from a beat that failed to the next one, at the latest
LOOK_AFTER, LOOK_EVERY = 2.0, 5.0  # s of a job until it is asked whether it is still wanted, and then how often
OVER = (errors.Superseded, errors.Stopped, errors.NotFound, errors.Denied)  # what ends a life
UNWANTED = (errors.Late, errors.Rejoin, errors.Conflict, errors.Superseded)  # what ends an attempt only
MAX_KEPT = 1000  # mails that are kept for who asks for them


class Life:
    """One life. It beats from join() to leave(); one thread at a time may wait."""

    def __init__(self, client: Client, me: Who) -> None:
        self.client = client
        self.agent, self.incarnation = me.agent, me.incarnation
        self.managed = False
        self.over: Optional[VigilError] = None
        """Why this life has ended; None: it has not."""
        self._token = me.token
        self._lock = threading.Lock()
        self._ttl = 60.0
        self._waiting = False  # joined, and no task claimed since
        self._proven = 0.0  # when the newest proof of life was sent that was acknowledged
        self._joins = 0  # changes when the lease has ended and was taken up again
        self._job: Optional[Job] = None
        self._ask = threading.Event()  # beat now
        self._left = threading.Event()
        self._scope = Scope()  # of parked calls
        self._beats: Optional[threading.Thread] = None
        self._blind = False  # whoever speaks here may not look at agents
        self._spooled = False
        self._pid = os.getpid()
        self._kept: Dict[int, Mail] = {}  # read, and not given to anybody yet
        keep(self)

    def forked(self) -> None:
        """A child does not beat, and neither waits nor leaves: its parent does."""
        self._lock = threading.Lock()
        self._ask, self._left = anew(self._ask), anew(self._left)
        self._beats = None

    @property
    def elsewhere(self) -> bool:
        """Tells whether this process is a child of the one that lives."""
        return os.getpid() != self._pid

    @property
    def speaker(self) -> Dict[str, Any]:
        return {"agent": self.agent, "incarnation": str(self.incarnation), "token": self._token}

    def join(self) -> None:
        """Makes this an agent of its room and begins to beat. Leave on every way out (law L5)."""
        self._enter(self._scope)
        self._beats = threading.Thread(target=self._beat_on, name="vigil-beats", daemon=True)
        self._beats.start()

    def leave(self, why: str) -> None:
        """Leaves the room at once; what is held goes back to its role."""
        self._left.set()
        self._ask.set()
        if self._beats is not None and self._beats is not threading.current_thread():
            self._beats.join(LEAVE)
        if self.over is None and not self._spooled:  # what is spooled counts while the attempt is this life's
            try:
                self.client.call("Work.Leave", {"speaker": self.speaker, "reason": why}, timeout=LEAVE)
            except (VigilError, OSError) as e:
                log.info("%s could not leave, its lease will end: %s", self.agent, e)

    def interrupt(self) -> None:
        """Ends wait(), for good; any thread may do so."""
        self._scope.end()

    def say(self, method: str, message: Dict[str, Any], job: Optional[Job] = None,
            scope: Optional[Scope] = None) -> Dict[str, Any]:
        """Says something as this life. A refusal that ends the job tells its handler."""
        try:
            return self.client.call(method, dict(message, speaker=self.speaker), scope=scope)
        except (errors.Superseded, errors.Rejoin, errors.Stopped) as e:
            if job is not None:
                self._finished(job, e)
            raise
        except Aborted:
            if job is not None:
                job.check()
            raise

    def park(self, method: str, span: float, scope: Scope, check: Callable[[], None]) -> None:
        """A call that parks; what goes wrong for a moment is passed over. It outlives the lease, which may have ended
        while this machine slept: the beat that joins again tells what has become of the job."""
        t = Trial(0.0, scope)
        t.tries = 5
        until = now() + span
        while True:
            left = max(until - now(), 1)
            try:
                self.client.call(method, {"speaker": self.speaker, "max_wait": duration(left)}, scope=scope)
                return
            except Aborted:
                check()
                return
            except errors.Rejoin:
                if now() >= until:
                    raise
                self._ask.set()
                t.pause()
            except VigilError as e:
                if not e.fleeting and not isinstance(e, errors.NoTask):
                    raise
                t.pause()
                return

    def wait(self) -> Job:
        """Parks until there is a task, and claims it. It outlives servers, leaders and whole outages; only the end of
        this life ends it, by an error, or interrupt(), by Aborted."""
        t = Trial(0.0, self._scope)
        while True:
            self._check()
            lost: Optional[VigilError] = None
            entered = False
            try:
                if not self._waiting:
                    self._enter(self._scope)
                entered, joins = True, self._joins
                message = {"speaker": self.speaker, "max_wait": duration(MAX_WAIT), "start": True}
                job = self._accept(self.client.call("Work.Wait", message, scope=self._scope), joins)
                if job is not None:
                    return job
                continue
            except errors.NoTask:
                t = Trial(0.0, self._scope)
                continue
            except errors.Rejoin as e:
                # The fence of a managed life may have ended, and it goes on when its host is heard again.
                self._waiting = False
                if entered:
                    continue
                lost = e
            except OVER as e:
                self.end(e)
                self._check()
            except VigilError as e:
                if not e.fleeting:
                    raise
                lost = e
            if t.tries == 0:
                t.began = now()
            elif not t.warned and now() - t.began > 5:
                t.warned = True
                log.warning("%s waits for a server: %s", self.agent, lost)
            t.tries += 1
            self._ask.set()  # the servers may have been away for longer than the lease; a beat tells
            t.pause()

    def next(self, job: Job, end: End) -> Optional[Job]:
        """Ends a job and takes the next one in the same step; None: there is none now, or nobody wanted this one.

        It outlives whole outages: the end of an attempt is fenced by life and attempt, so that it may be said for as
        long as the life lasts, under a new number where the old one is forgotten. Aborted after interrupt().
        """
        joins = self._joins
        message: Dict[str, Any] = {"speaker": self.speaker, "task": job.id, "attempt": job.attempt, "start": True}
        message.update(end.next())
        try:
            answer = self._insist("Work.Next", message)
        except (errors.OldServers, errors.Unimplemented):  # nothing was executed
            self.finish(job, end)
            return None
        except VigilError as e:
            self._refused(job, end, e, None)
            return None
        self._finished(job, errors.Closed("the job is finished"))
        claim = answer.get("claim")
        if not claim:
            self._waiting = (answer.get("none") or {}).get("code") == "no_task" and self._joins == joins
            return None
        try:
            return self._accept(claim, joins)
        except VigilError:
            self._waiting = False  # wait() tells what it holds, or why not
            return None

    def finish(self, job: Job, end: End, timeout: Optional[float] = None) -> None:
        """Ends a job and takes no other one: as next(), or within timeout seconds."""
        method, message = end.call()
        message.update(speaker=self.speaker, task=job.id, attempt=job.attempt)
        try:
            if timeout is None:
                self._insist(method, message)
            else:
                self.client.call(method, message, timeout=timeout)
        except VigilError as e:
            self._refused(job, end, e, timeout)
        else:
            self._finished(job, errors.Closed("the job is finished"))

    def spool(self, job: Job, end: End) -> bool:
        """Leaves a result that no server has taken with the agentd of a managed life; tells whether it did."""
        if end.failure or end.handoff is not None:
            return False
        self._spooled = _spool.put(self.agent, self.incarnation, self._token, job, end.result)
        return self._spooled

    def _insist(self, method: str, message: Dict[str, Any]) -> Dict[str, Any]:
        """Says the end of an attempt until it is answered, this life is over, or it is interrupted."""
        t = Trial(0.0, self._scope)
        while True:
            self._check()
            try:
                return self.client.call(method, message, scope=self._scope)
            except Aborted:
                self._check()
                raise
            except VigilError as e:
                if not e.fleeting and not isinstance(e, (errors.UnknownSession, errors.TooOld)):
                    raise
                if not t.warned:
                    t.warned = True
                    log.warning("%s still has to say how its task has ended: %s", self.agent, e)
            t.tries += 1
            self._ask.set()  # the servers may have been away for longer than the lease; a beat tells
            t.pause()

    def _refused(self, job: Job, end: End, e: VigilError, timeout: Optional[float]) -> None:
        """The end of one attempt was refused: the worker goes on, unless that is no refusal of the attempt."""
        failure = unfit(end, e)
        if failure is not None:
            log.error("task %d (attempt %d): %s", job.id, job.attempt, failure.failure)
            self.finish(job, failure, timeout)
            return
        self._finished(job, e)
        if not isinstance(e, UNWANTED):
            raise e
        log.warning("task %d (attempt %d): its end was refused: %s", job.id, job.attempt, e)

    def kept(self, others: Optional[List[Mail]] = None) -> List[Mail]:
        """Keeps mail that was read and is for somebody else of this life; without any it gives what is kept."""
        with self._lock:
            if others is None:
                mails, self._kept = list(self._kept.values()), {}
                return mails
            for mail in others:
                if len(self._kept) < MAX_KEPT:
                    self._kept[mail.id] = mail
            return []

    def _finished(self, job: Job, cause: VigilError) -> None:
        with self._lock:
            if self._job is job:
                self._job = None
        job.cancel(cause)

    def end(self, cause: VigilError) -> None:
        """This life is over."""
        with self._lock:
            if self.over is not None:
                return
            self.over = cause
            job, self._job = self._job, None
        if job is not None:
            job.cancel(cause)
        self._scope.end()

    def _check(self) -> None:
        if self.over is not None:
            raise self.over
        self._scope.check()

    def _accept(self, claim: Mapping[str, Any], joins: int) -> Optional[Job]:
        """Makes a job of a claim; None when it is over already: an answer that was long on its way may tell of a lease
        that has ended meanwhile."""
        if self._joins != joins:
            self._waiting = False
            return None
        job = Job(self, claim["task"], int(claim.get("attempt", 0)))
        with self._lock:
            self._job, self._waiting = job, False
            self._ttl = read_duration(claim.get("ttl"), self._ttl)
            fresh = now() - self._proven < self._ttl / 2
        if not fresh:
            try:
                self._beat()
            except VigilError as e:
                self._finished(job, e)
                raise
        return None if job.cancelled.is_set() else job

    def _enter(self, scope: Optional[Scope] = None) -> None:
        sent = now()
        answer = self.client.call("Work.Join", {"speaker": self.speaker}, scope=scope)
        with self._lock:
            self.agent, self.incarnation = str(answer["agent"]), int(answer["incarnation"])
            self.managed = bool(answer.get("managed"))
            self._ttl = read_duration(answer.get("ttl"), 60.0)
            self._waiting, self._proven = True, sent
            self._joins += 1
            job = self._job
            taken = job is not None and int(answer.get("task", 0) or 0) != job.id
            if taken:
                self._job = None
        if taken and job is not None:
            job.cancel(errors.Rejoin("the lease has ended, and the task was given to somebody else"))

    # Beats

    def _beat_on(self) -> None:
        """Renews the lease every quarter of its length until the life ends. Nothing ends it silently: what it did not
        expect ends the life, so that its worker says so."""
        try:
            self._beat_loop()
        except BaseException as e:
            log.exception("the beats of %s have ended", self.agent)
            self.end(errors.Internal(f"the beats have ended: {type(e).__name__}: {e}"))

    def _beat_loop(self) -> None:
        due = now() + self._ttl / 4
        look = 0.0
        told = False  # that nobody hears the beats
        while not self._left.is_set():
            job = self._job
            until = min(due, look or due) if job is not None else due
            if job is not None and not look:
                look = max(job.began + LOOK_AFTER, now())
                continue
            asked = self._ask.wait(max(until - now(), 0.0))
            self._ask.clear()
            if self._left.is_set() or self.over is not None:
                return
            if job is not None and job is self._job and now() >= look and not asked:
                self._look(job)
                look = now() + LOOK_EVERY
            if job is None or job is not self._job:
                look = 0.0
            if now() < due and not asked:
                continue
            began = now()
            try:
                self._beat()
                due, told = now() + self._ttl / 4, False
            except OVER as e:
                self.end(e)
                return
            except (VigilError, OSError, ValueError) as e:
                if not told and now() - self._proven > self._ttl / 2:
                    log.warning("no beat of %s was heard for half a lease, more follow, after: %s", self.agent, e)
                    told = True
                due = began + min(AGAIN, self._ttl / 10)  # at once when it was waited for longer

    def _beat(self) -> None:
        """Proves once that this life goes on. A beat that fails is not repeated: the next one is another proof."""
        sent = now()
        limit = min(self._ttl / 4, self.client._attempt)
        try:
            answer = self.client._single("Work.Renew", {"speaker": self.speaker}, limit)
        except errors.Rejoin:
            self._waiting = False
            try:
                self._enter()
            except errors.Rejoin:
                pass  # not yet
            return
        with self._lock:
            self._proven = sent
            self._ttl = read_duration(answer.get("ttl"), self._ttl)

    def _look(self, job: Job) -> None:
        """Asks whether the task is still this life's: a human may have canceled it."""
        if self._blind:
            return
        try:
            answer = self.client._single("Fleet.GetAgent", {"agent": self.agent}, min(self._ttl / 4, 2.0))
        except errors.Denied:
            self._blind = True
            return
        except (VigilError, OSError):
            return  # the beats tell when that lasts
        held = int((answer.get("agent") or {}).get("task", 0) or 0)
        if held != job.id:
            self._finished(job, errors.Superseded(f"task {job.id} was canceled, or given to somebody else"))
