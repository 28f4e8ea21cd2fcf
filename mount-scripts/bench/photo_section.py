"""Measures what is done with a folder of photos: contenders, in turn, at each step."""

import os
import shutil
from pathlib import Path

import steps
from photo_data import PhotoData

COUNT = 5_000

# What is measured, in this order. Each is a method of the contenders that take part.
READING = ["metadata", "thumbnails"]
# Of a part of the photos: a store's first backup of them, a second one of the same, and their upload to a bucket.
STORING = ["first", "second", "upload"]


def measure(folder: Path, scale: float, rounds: int, kinds: list, runner) -> dict:
    """What was found, as `photo_report` takes it; `kinds` are who takes part. PHOTOS is how many photos there are."""
    count = int(os.environ.get("PHOTOS") or 0) or max(1, round(COUNT * scale))
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    data = PhotoData(folder / "corpora", count)
    print(f"{count:,} photos: building what is not there yet", flush=True)
    data.build()
    run = {
        "versions": {kind.name: kind.version() for kind in kinds}, "results": [], "count": count, "bytes": data.byte_count,
        "stored_count": data.stored_count, "stored_bytes": data.stored_bytes,
        "cores": len(os.sched_getaffinity(0))}
    # Another number of photos is a trial, which does not get onto the page.
    if count != COUNT:
        run["is_partial"] = True
    for round_number in range(rounds):
        print(f"  round {round_number + 1} of {rounds}", flush=True)
        # The contender that is first in one round is last in another.
        shift = round_number % len(kinds)
        for step in READING + STORING:
            for kind in kinds[shift:] + kinds[:shift]:
                if hasattr(kind, step):
                    run["results"].append({"round": round_number} | steps.take_turn(kind(scratch, runner), step, data))
    shutil.rmtree(scratch, ignore_errors=True)
    return run
