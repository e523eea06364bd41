"""A map over many tasks: their workers may be in any language, on any host."""

import sys

import vigil

count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
with vigil.Client() as client:
    numbers = [{"n": n} for n in range(count)]
    total = sum(task.json()["square"] for task in client.tasks.map("web", "square", numbers, timeout=600))
print(total)
