"""The worker of the conformance table: doc.go of rpc/sdk/conformance says what it has to do."""

import json
import os

import vigil


def say(**line):
    print(json.dumps(line), flush=True)


client = vigil.Client(attempt=0.5, retry_for=float(os.environ.get("VIGIL_CONFORMANCE_RETRY", 300)))


@vigil.worker("web/builder", client=client)
def work(job):
    say(did="handle", task=job.id)
    if job.text == "progress":
        job.progress("half of it")
    elif job.text == "long":
        job.sleep(1.5)
        job.progress("half of it")
    elif job.text == "hold":
        job.cancelled.wait()
        say(did="told", task=job.id, cause=job.cause.code)
    elif job.text == "stop":
        try:
            job.cancelled.wait()
        finally:
            raise vigil.Retry("the tool was interrupted")
    elif job.text == "retry":
        raise vigil.Retry("it is not there yet", after=3)
    elif job.text == "fail":
        raise FileNotFoundError("no such file")
    elif job.text == "handoff":
        return vigil.Handoff("tester", "look at it", result="built")
    return "done"


try:
    vigil.run()
    say(did="end", code="")
except vigil.VigilError as e:
    say(did="end", code=e.code, text=str(e))
