import vigil


@vigil.worker("{{.Name}}/worker")
def work(job):
    job.progress("started")
    return {"ok": True, "text": job.text}


vigil.run()
