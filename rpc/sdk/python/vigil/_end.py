"""How a job ends."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Tuple

from . import _errors as errors
from ._clock import Span, duration, seconds
from ._errors import VigilError
from ._job import Handoff, clip
from ._tasks import MAX_RESULT

MAX_REASON = 1024  # bytes of why an attempt has failed
MAX_AFTER = 30 * 86400.0  # s that servers put a task off at most
FULL_AFTER = 60.0  # s until an attempt follows whose result or hand-off a budget had no room for
UNFIT = (errors.Invalid, errors.NotFound, errors.TooLarge, errors.Full)  # what is said of a result, or of a hand-off


class End:
    """How a job ends. With a failure the result does not count: it is kept with the task, for people."""

    def __init__(self, *, result: str = "", handoff: Optional[Handoff] = None, failure: str = "",
                 retryable: bool = False, after: Optional[float] = None) -> None:
        self.result, self.handoff, self.failure = result, handoff, failure
        self.retryable, self.after = retryable or after is not None, after

    def call(self) -> Tuple[str, Dict[str, Any]]:
        """The call that ends a job so, and takes no other one."""
        if self.failure:
            message: Dict[str, Any] = {"text": self.failure, "retryable": self.retryable}
            if self.after is not None:
                message["after"] = duration(self.after)
            if self.result:
                message["result"] = self.result
            return "Work.FailTask", message
        if self.handoff is not None:
            return "Work.Handoff", self._handover()
        return "Work.CompleteTask", {"result": self.result}

    def next(self) -> Dict[str, Any]:
        """The part of Work.Next that says so."""
        if self.failure:
            fail: Dict[str, Any] = {"reason": self.failure, "retryable": self.retryable}
            if self.after is not None:
                fail["after"] = duration(self.after)
            if self.result:
                fail["result"] = self.result
            return {"fail": fail}
        if self.handoff is not None:
            return {"handoff": self._handover()}
        return {"complete": {"result": self.result}}

    def _handover(self) -> Dict[str, Any]:
        h = self.handoff
        assert h is not None
        return {"result": self.result, "to_role": h.role, "title": h.title, "text": h.text, "priority": h.priority}


def later(after: Optional[Span]) -> Optional[float]:
    """The span that a handler has said until the next attempt, as servers take it: what is past by now is 0, what is
    too long the longest. None: it has said none, or what is no span."""
    try:
        span = float("nan") if after is None else seconds(after)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(span) else min(max(span, 0.0), MAX_AFTER)


def made(result: str, handoff: Optional[Handoff]) -> str:
    """All that an end says that was refused, as much of it as servers keep."""
    if handoff is not None:
        result = f"{result}\n\nfor {handoff.role}: {handoff.title}\n{handoff.text}".strip("\n")
    size = len(result.encode("utf-8", "replace"))
    if size <= MAX_RESULT:
        return result
    note = f"\n[cut: it had {size} bytes]"
    return clip(result, MAX_RESULT - len(note)) + note


def unfit(end: End, e: VigilError) -> Optional[End]:
    """What a refused end becomes: where the result, or the hand-off, is refused the attempt fails, since no other life
    would end it better, and what it has made is kept with the task, if servers can. A failure is said without what is
    refused of it. None: the refusal is about life or attempt."""
    if end.failure and end.result and isinstance(e, (*UNFIT, errors.OldServers)):
        return End(failure=end.failure, retryable=end.retryable, after=end.after)
    if end.failure and end.after is not None and isinstance(e, errors.Invalid):
        return End(failure=end.failure, retryable=end.retryable)
    if end.failure or not isinstance(e, UNFIT):
        return None
    return End(failure=clip(f"what it returned was refused: {e}", MAX_REASON), result=made(end.result, end.handoff),
               after=FULL_AFTER if isinstance(e, errors.Full) else None)
