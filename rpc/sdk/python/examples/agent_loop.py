"""An agent around a command: each task is a prompt for it. The conversation goes on in the next life.

The command is what AGENT_COMMAND says, for instance "claude -p"; here, where there is none, it is cat.
"""

import os
import shlex

import vigil

COMMAND = shlex.split(os.environ.get("AGENT_COMMAND", "cat"))


@vigil.worker("web/agent", retry_on=OSError)
def agent(job: vigil.Job) -> str:
    job.progress(f"asks {COMMAND[0]}", expect=600)
    if job.resume:
        job.progress("goes on with " + job.resume)
    # It is ended when a human cancels the task, or a newer life takes over: no model works for nobody.
    done = job.run(COMMAND, input=job.text, timeout=3600)
    job.remember(f"task-{job.id}")
    return done.stdout


vigil.run()
