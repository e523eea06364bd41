"""A producer, as in CI: it gives a task out, waits for its end, and fails when the task did.

Outside of the machine of a person it needs VIGIL_ADDR, VIGIL_API_TOKEN (`vigil token create --role operator`) and
VIGIL_ROOTS, the file with the root of the cluster.
"""

import sys

import vigil

with vigil.Client() as client:
    task = client.tasks.create("web", "builder", sys.argv[1], title="Build " + sys.argv[1])
    try:
        print(client.tasks.wait(task, timeout=900).result)
    except vigil.TaskFailed as e:
        sys.exit(str(e))
