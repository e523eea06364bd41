"""Results that no server has taken: agentd delivers them after the life, before it reports the life's end."""

from __future__ import annotations

import json
import logging
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._job import Job

log = logging.getLogger("vigil")


def put(agent: str, incarnation: int, token: str, job: "Job", result: str) -> bool:
    """Leaves the result of a job in the folder that VIGIL_SPOOL names, all at once, and on disk when it returns. False
    where there is no such folder, as in a life that no agentd has started."""
    folder = os.environ.get("VIGIL_SPOOL", "")
    if not folder or not token:
        return False
    completion = {"agent": agent, "incarnation": incarnation, "task": job.id, "attempt": job.attempt,
                  "result": result, "token": token}
    if job.trace:
        completion["traceparent"] = job.trace
    name = f"{time.time_ns():020d}-{job.id}-{job.attempt}"
    temporary = os.path.join(folder, "." + name)
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(json.dumps(completion, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            f.flush()
            os.fsync(f.fileno())
        os.rename(temporary, os.path.join(folder, name + ".json"))
        d = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(d)
        finally:
            os.close(d)
    except OSError as e:
        log.warning("task %d: its result cannot be left with agentd: %s", job.id, e)
        return False
    return True
