"""Measures copies of a card to two places at once: contenders, in turn, at each step."""

import os
import shutil
import tempfile
from pathlib import Path

import steps
from copy_data import CopyData, extent

# What is measured, in this order. Each is a method of the contenders that take part.
STEPS = ["card", "small", "digests"]


def measure(folder: Path, scale: float, rounds: int, kinds: list, runner) -> dict:
    """What was found, as `copy_report` takes it; `kinds` are who takes part."""
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    data = CopyData(folder / "corpora", scale)
    print("Copies: building what is not there yet", flush=True)
    data.build()
    run = {
        "versions": {kind.name: kind.version() for kind in kinds}, "results": [], "card": extent(data.card),
        "small": extent(data.small), "cores": len(os.sched_getaffinity(0))}
    # A file system in memory, as on each machine with Linux.
    with tempfile.TemporaryDirectory(prefix="backupfs-bench-", dir="/dev/shm") as memory:
        for round_number in range(rounds):
            print(f"  round {round_number + 1} of {rounds}", flush=True)
            # The contender that is first in one round is last in another.
            shift = round_number % len(kinds)
            for step in STEPS:
                for kind in kinds[shift:] + kinds[:shift]:
                    if getattr(kind, step, None):
                        contender = kind(scratch, Path(memory), runner)
                        run["results"].append({"round": round_number} | steps.take_turn(contender, step, data))
    shutil.rmtree(scratch, ignore_errors=True)
    return run
