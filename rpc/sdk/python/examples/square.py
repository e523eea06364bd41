"""The worker of map_tasks.py, for asyncio. Start as many of it as the role has replicas."""

from typing import Dict

import vigil


@vigil.worker("web/square")
async def square(job: vigil.AsyncJob) -> Dict[str, int]:
    n = job.json()["n"]
    return {"square": n * n}


vigil.run(verbose=False)
