"""The clock by which spans are measured: it never goes back, and goes on while a laptop sleeps, as the
cluster does."""

from __future__ import annotations

import datetime
import time
from typing import Union

Span = Union[int, float, datetime.timedelta]
"""A span of time: seconds, or a timedelta."""

if hasattr(time, "CLOCK_BOOTTIME"):
    def now() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
else:
    now = time.monotonic

wall = time.time
"""The clock of the day: it goes on while a machine is asleep on which now() does not, as on macOS."""


def seconds(span: Span) -> float:
    return span.total_seconds() if isinstance(span, datetime.timedelta) else float(span)


def duration(span: Span) -> str:
    """The span as the API writes it: 1.500s."""
    return f"{seconds(span):.3f}s"


def read_duration(text: object, otherwise: float) -> float:
    """What an answer says, otherwise where it says nothing that can be read."""
    if isinstance(text, str) and text.endswith("s"):
        try:
            return float(text[:-1])
        except ValueError:
            pass
    return otherwise
