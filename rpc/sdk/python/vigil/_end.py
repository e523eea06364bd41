"""How a job ends."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from . import _errors as errors
from ._clock import duration
from ._errors import VigilError
from ._job import Handoff, clip

MAX_REASON = 1024  # bytes of why an attempt has failed
FULL_AFTER = 60.0  # s until an attempt follows whose result or hand-off a budget had no room for
UNFIT = (errors.Invalid, errors.NotFound, errors.TooLarge, errors.Full)  # what is said of a result, or of a hand-off


class End:
    """How a job ends."""

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
            return {"fail": fail}
        if self.handoff is not None:
            return {"handoff": self._handover()}
        return {"complete": {"result": self.result}}

    def _handover(self) -> Dict[str, Any]:
        h = self.handoff
        assert h is not None
        return {"result": self.result, "to_role": h.role, "title": h.title, "text": h.text, "priority": h.priority}


def unfit(end: End, e: VigilError) -> Optional[End]:
    """What a refused end becomes: where the result, or the hand-off, is refused the attempt fails, since no other life
    would end it better. None: the refusal is about life or attempt."""
    if end.failure or not isinstance(e, UNFIT):
        return None
    return End(failure=clip(f"what it returned was refused: {e}", MAX_REASON),
               after=FULL_AFTER if isinstance(e, errors.Full) else None)
