"""Numbers for writes: the cluster gives the first answer again to whoever repeats a number."""

from __future__ import annotations

import threading
from typing import Callable, List

from ._clock import now

# While number n has no answer, at most 31 lower and 31 higher numbers are carried out after it, so that
# the answer to n is still among the 64 that the cluster keeps of a session.
WINDOW = 32
REST = 300.0  # s that a session may be unused: half of what the cluster allows


class Session:
    """A numbered row of writes. The lock of Sessions guards it."""

    def __init__(self, number: str) -> None:
        self.number = number
        self.next = 1
        self.low = 1  # the lowest number without an answer
        self.done = 0  # bit i: low+i has its answer
        self.used = now()
        self.dead = False  # the cluster has forgotten it


class Ticket:
    """The right to one write."""

    __slots__ = ("session", "seq")

    def __init__(self, session: Session, seq: int) -> None:
        self.session, self.seq = session, seq

    @property
    def key(self) -> str:
        return f"{self.session.number}-{self.seq}"


class Sessions:
    """Opens sessions as they are needed. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: List[Session] = []

    def forked(self) -> None:
        """The sessions are those of the parent: a number that both used would have the answer of the first."""
        self._lock = threading.Lock()
        self._all = []

    def take(self, opener: Callable[[], str]) -> Ticket:
        """Gives the next number; opens a session when all windows are full."""
        with self._lock:
            ticket = self._free()
        if ticket is not None:
            return ticket
        session = Session(opener())
        with self._lock:
            self._all.append(session)
            session.next = 2
            return Ticket(session, 1)

    def _free(self) -> "Ticket | None":
        for s in reversed(self._all):
            if s.next == s.low and now() - s.used > REST:
                s.dead = True
            if not s.dead and s.next - s.low < WINDOW:
                s.used = now()
                s.next += 1
                return Ticket(s, s.next - 1)
        self._all = [s for s in self._all if not s.dead]
        return None

    def put(self, ticket: Ticket) -> None:
        """The write is answered, or will never be repeated."""
        with self._lock:
            s = ticket.session
            s.done |= 1 << (ticket.seq - s.low)
            while s.done & 1:
                s.done >>= 1
                s.low += 1

    def drop(self, ticket: Ticket) -> None:
        """The cluster does not know the session any more."""
        with self._lock:
            ticket.session.dead = True
            self._all = [s for s in self._all if not s.dead]

    def idle(self) -> List[str]:
        """The sessions without a write under way, to be closed."""
        with self._lock:
            return [s.number for s in self._all if not s.dead and s.next == s.low]
