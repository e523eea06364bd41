"""What is made new in a child after os.fork(): no other thread goes on there, so a lock that one held would be held
for ever, and numbers of writes and connections of the parent are not the child's."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    """Has something that a child may not share with its parent."""

    def forked(self) -> None:
        """Makes that new. The child calls it, in its only thread, before anything else runs there."""


_all: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def keep(one: Forked) -> None:
    """Has one made new in each child, as long as it lives."""
    _all.add(one)


def anew(event: threading.Event) -> threading.Event:
    """An event in the same state, whose lock nobody holds."""
    new = threading.Event()
    if event.is_set():
        new.set()
    return new


def _child() -> None:
    for one in list(_all):
        one.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)
