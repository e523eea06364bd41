"""vigil for Python: workers that are agents, and a client of the whole API. Nothing but the standard library.

    import vigil

    @vigil.worker("web/builder")
    def build(job):
        job.progress("started")
        return {"ok": True}

    vigil.run()

docs/guide/python.md is the guide.
"""

from ._aio import AsyncClient, AsyncJob, AsyncTasks
from ._client import Client
from ._errors import *  # noqa: F401,F403
from ._errors import CODES, VigilError
from ._job import CommandFailed, Handoff, Job, Mail, Retry, Stopping
from ._tasks import ResultLost, Task, TaskFailed, Tasks
from ._worker import Worker, run, worker

__version__ = "0.0.0.dev0"
"""That of the vigil it was made with; "0.0.0.dev0" in a checkout."""

__all__ = ["AsyncClient", "AsyncJob", "AsyncTasks", "CODES", "Client", "CommandFailed", "Handoff", "Job", "Mail",
           "ResultLost", "Retry", "Stopping", "Task", "TaskFailed", "Tasks", "VigilError", "Worker", "run", "worker"]
__all__ += [kind.__name__ for kind in CODES.values()]
