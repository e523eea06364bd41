"""Measures workers in Python against a running fleet (`vigil dev --every 0`): python3 bench.py --vigil bin/vigil

Many workers of one role wait, the room is paused, tasks of nothing are created, the room is resumed, and it is
measured until all are done; then what a worker costs that waits. Linux only.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import vigil  # noqa: E402

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
import vigil

@vigil.worker("bench/worker")
def nothing(job):
    return ""

vigil.run(verbose=False)
"""


def cpu(pid):
    """Processor time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """Resident memory of a process, in MB."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) * 1024 / 1e6


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--vigil", default="vigil")
    p.add_argument("--tasks", type=int, default=8000)
    p.add_argument("--workers", type=int, default=50)
    p.add_argument("--idle", type=float, default=60, help="seconds for which idle workers are watched")
    a = p.parse_args()
    room = f"room: bench\nroles: [{{name: worker, replicas: {a.workers}, ttl: 60s}}]\n"
    subprocess.run([a.vigil, "apply", "-f", "-"], input=room, text=True, check=True, stdout=subprocess.DEVNULL)
    client = vigil.Client()
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, sys.path[0]]) for _ in range(a.workers)]
    try:
        measure(a, client, workers)
    finally:
        for w in workers:
            w.terminate()
        for w in workers:
            w.wait()


def measure(a, client, workers):
    while sum(x["participant"] == "WAITING" for x in
              client.call("Fleet.ListAgents", {"room": "bench", "limit": 1000})["agents"]) < a.workers:
        time.sleep(0.2)
    subprocess.run([a.vigil, "room", "pause", "bench"], check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: client.tasks.create("bench", "worker", "x"), range(a.tasks)))
    print(f"create: {a.tasks / (time.monotonic() - began):.0f} tasks/s by one client with 16 threads")
    before = sum(cpu(w.pid) for w in workers)
    subprocess.run([a.vigil, "room", "resume", "bench"], check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    while client.call("Fleet.GetRoom", {"room": "bench"})["roles"][0]["tasks"].get("COMPLETED", 0) < a.tasks:
        time.sleep(0.1)
    span = time.monotonic() - began
    used = sum(cpu(w.pid) for w in workers) - before
    print(f"work: {a.tasks / span:.0f} tasks/s by {a.workers} workers in {span:.1f} s, "
          f"{used / a.tasks * 1e6:.0f} us of processor a task in them, load {os.getloadavg()[0]:.0f}")
    before = sum(cpu(w.pid) for w in workers)
    time.sleep(a.idle)
    used = sum(cpu(w.pid) for w in workers) - before
    print(f"idle: {used / a.workers / a.idle * 100:.3f} % of a core each, "
          f"{max(resident(w.pid) for w in workers):.1f} MB resident at most")


main()
