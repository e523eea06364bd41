"""One call with its attempts."""

from __future__ import annotations

import random
import threading
from typing import Optional

from ._clock import now
from ._errors import VigilError
from ._wire import Scope

GAP = 15.0  # s between two attempts that tell of a process which stood still: frozen, or its machine asleep


class Trial:
    """One call with its attempts."""

    def __init__(self, retry_for: float, scope: Optional[Scope]) -> None:
        self.began, self.until, self.scope = now(), retry_for, scope
        self.sent = self.began  # when the last attempt began
        self.more = 0.0  # until when it is asked after a gap
        self.tries = self.hops = 0
        self.fresh = False  # the identity was shown anew
        self.stood = False  # there was a gap
        self.warned = False
        self.last: Optional[VigilError] = None

    def left(self) -> float:
        """The seconds that are left."""
        t = now()
        return max(self.until - (t - self.began), self.more - t)

    def over(self, attempt: float) -> bool:
        """Tells whether its time is over. Time in which the process stood still was no time to ask: after such a gap it
        is asked for attempt seconds more, once."""
        if self.left() > 0:
            return False
        t = now()
        if self.stood or t - self.sent <= GAP:
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
