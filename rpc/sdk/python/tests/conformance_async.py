"""The worker of the conformance table for asyncio."""

import asyncio
import json
import os

import vigil


def say(**line):
    print(json.dumps(line), flush=True)


client = vigil.Client(attempt=0.5, retry_for=float(os.environ.get("VIGIL_CONFORMANCE_RETRY", 300)))


@vigil.worker("web/builder", client=client)
async def work(job):
    say(did="handle", task=job.id)
    if job.text == "progress":
        await job.progress("half of it")
    elif job.text == "long":
        await asyncio.sleep(1.5)
        await job.progress("half of it")
    elif job.text == "hold":
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            say(did="told", task=job.id, cause=job.sync.cause.code)
            raise
    elif job.text == "stop":
        try:
            await asyncio.sleep(600)
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
