"""The trace that a task is part of, as W3C writes it (traceparent)."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar

ENV = "TRACEPARENT"
_FORM = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}.{0,200}")

current: ContextVar[str] = ContextVar("vigil_trace", default="")
"""That of the attempt whose function runs."""


def checked(text: str) -> str:
    """The traceparent; "" where it is none."""
    return text if _FORM.fullmatch(text) else ""


def here() -> str:
    """Where a task that is created now belongs; "": in a trace of its own."""
    return current.get() or checked(os.environ.get(ENV, ""))
