"""One call with its attempts."""

from __future__ import annotations

import random
import threading
from typing import Optional, Tuple

from ._clock import now, wall
from ._errors import VigilError
from ._wire import Scope

GAP = 15.0  # s between two attempts that tell of a process which stood still: frozen, or its machine asleep


class Trial:
    """One call with its attempts."""

    def __init__(self, retry_for: float, scope: Optional[Scope]) -> None:
        self.began, self.until, self.scope = now(), retry_for, scope
        self._born = self._sent = (self.began, wall())  # of the call, and of its last attempt
        self.more = 0.0  # until when it is asked after a gap
        self.tries = self.hops = 0
        self.fresh = False  # the identity was shown anew
        self.stood = False  # there was a gap
        self.warned = False
        self.changes = False  # the call leaves something behind where its answer is lost
        self.maybe = False  # an attempt that has no answer may have been carried out
        self.last: Optional[VigilError] = None

    def elapsed(self) -> float:
        """The seconds since it began."""
        return _since(self._born)

    def sends(self) -> None:
        """An attempt begins."""
        self._sent = (now(), wall())

    def unanswered(self) -> None:
        """An attempt may have been carried out, and nobody has said so."""
        self.maybe = self.maybe or self.changes

    def left(self) -> float:
        """The seconds that are left."""
        return max(self.until - self.elapsed(), self.more - now())

    def over(self, attempt: float) -> bool:
        """Tells whether its time is over. Time in which the process stood still was no time to ask: after such a gap it
        is asked for attempt seconds more, once."""
        if self.left() > 0:
            return False
        t = now()
        if self.stood or _since(self._sent) <= GAP:
            return True
        self.stood, self.more = True, t + max(min(self.until, attempt), 0.001)
        return False

    def pause(self) -> None:
        """Waits before the next attempt: from 20 ms on, up to a quarter of the time that it has lasted."""
        self.hops = 0
        d = min(0.02 * 2 ** min(self.tries - 1, 10), max(0.1, (now() - self.began) / 4), 2.0)
        d = d / 2 + random.random() * d / 2
        scope = self.scope
        if scope is not None:
            scope.ended.wait(d)
        else:
            threading.Event().wait(d)


def _since(then: Tuple[float, float]) -> float:
    """The seconds since then, by whichever clock says more: where one stands still while a machine is asleep, the
    cluster does not."""
    return max(now() - then[0], wall() - then[1])
