"""An agent that asks a human before it goes on: `vigil mail send web/release yes` is the answer."""

import vigil


@vigil.worker("web/release")
def release(job: vigil.Job) -> vigil.Handoff:
    answer = job.ask(f"May I release {job.text}?", within=24 * 3600)
    if answer.body.strip().lower() not in ("yes", "y"):
        raise RuntimeError("a human said: " + answer.body)
    return vigil.Handoff("builder", {"release": job.text}, result="released")


vigil.run()
