"""Measures backing up to an object server, looking at backups there and restoring them: contenders, in turn, each with a server of its own."""

import os
import random
import shutil
import statistics
import time
from pathlib import Path

import contenders
from backup_section import AGE_SECONDS
from measure import FreshFolder, StepFailed, drop_caches, settle, stored_bytes
from object_server import ObjectServer, difference
from remote_data import Album

LIST_LIMIT_SECONDS = 120
READ_COUNT = 20
READ_BYTES = 4096


def first_upload(contender):
    return contender.upload() if contender.uploads_afterwards else contender.back_up("first")


def list_long(contender, result: dict):
    """`ls -lR` in a new mount, whose first look at the backup is a part of it."""
    with contender.mounted() as daemon:
        found = contender.runner.run(["ls", "-lR"], folder=contender.media, limit_seconds=LIST_LIMIT_SECONDS, is_silent=True)
        result |= {"was_stopped": found.was_stopped, "seconds": found.seconds, "peak_bytes": daemon.memory()["peak_bytes"]}
    return result


def list_without_caches(contender, result: dict):
    contender.forget_caches()
    return list_long(contender, result)


def read_first_bytes(contender, result: dict):
    """The median of reads of 4 KiB, each in the middle of another photo that was never read."""
    contender.forget_caches()
    photos = sorted(name for name in os.listdir(contender.corpus.media) if name.endswith(".jpg"))
    chosen = random.Random("reads").sample(photos, min(READ_COUNT, len(photos)))
    with contender.mounted() as daemon:
        # All that is known of the folder without its files' bytes is known then.
        for _ in os.scandir(contender.media):
            pass
        seconds = []
        for name in chosen:
            offset = (contender.corpus.media / name).stat().st_size // 2
            begin = time.monotonic()
            with open(contender.media / name, "rb", buffering=0) as file:
                file.seek(offset)
                content = file.read(READ_BYTES)
            seconds.append(time.monotonic() - begin)
            with open(contender.corpus.media / name, "rb") as file:
                file.seek(offset)
                if content != file.read(READ_BYTES):
                    raise StepFailed(f"other bytes than those of {name}")
        result |= {"seconds": statistics.median(seconds), "peak_bytes": daemon.memory()["peak_bytes"]}
    return result


def commands(act):
    """For what is one command."""
    def measured(contender, result: dict):
        found = act(contender)
        result |= {"seconds": found.seconds, "peak_bytes": found.peak_bytes}
        return result
    return measured


# What is measured, in this order. `cold`: the system's caches are dropped before.
STEPS = [
    ("first-here", True, commands(lambda contender: contender.back_up_here("first"))),
    ("first", True, commands(first_upload)),
    ("unchanged", False, commands(lambda contender: contender.back_up("unchanged"))),
    ("changed", False, commands(lambda contender: contender.back_up("changed"))),
    ("list", False, list_long),
    ("list-fresh", False, list_without_caches),
    ("read", False, read_first_bytes),
    ("restore", True, None),
]


def restore_into(target: Path):
    def measured(contender, result: dict):
        contender.forget_caches()
        result = commands(lambda contender: contender.restore(target))(contender, result)
        contender.verify_restored(target)
        return result
    return measured


def show(contender, step: str, result: dict):
    if "failure" in result:
        print(f"    {contender.name:14} {step:11} FAILED: {result['failure']}", flush=True)
        return
    print(
        f"    {contender.name:14} {step:11} {result['seconds']:8.3f} s {result['peak_bytes'] / 1e6:6.0f} MB, "
        f"{result['requests']:5} requests {result['requests_by_kind']}, {result['received_bytes'] / 1e6:9.3f} MB sent, "
        f"{result['sent_bytes'] / 1e6:9.3f} MB got, bucket + {result['grown_bytes'] / 1e6:.3f} MB", flush=True)


def take_turn(contender, target: Path, record):
    """One contender does all the work once."""
    server, corpus = contender.server, contender.corpus
    corpus.reset()
    contender.prepare()
    for step, is_cold, act in STEPS:
        if step == "first-here" and not contender.uploads_afterwards:
            continue
        if step == "changed":
            corpus.change()
        if step in ("first-here", "first", "changed"):
            time.sleep(AGE_SECONDS)
        if is_cold:
            drop_caches()
        else:
            settle()
        result = {"step": step, "contender": contender.name}
        try:
            stored, counted = server.stored_bytes(), server.counters()
            result = (act or restore_into(target))(contender, result)
            result |= difference(counted, server.counters())
            result["grown_bytes"] = server.stored_bytes() - stored
        except (StepFailed, OSError) as failure:
            result["failure"] = str(failure)
        show(contender, step, result)
        record(result)


def measure(folder: Path, scale: float, rounds: int, kinds: list, runner) -> dict:
    """What was found, as `remote_report` takes it; `kinds` are who takes part."""
    run = {"versions": {kind.name: kind.version() for kind in kinds}, "results": []}
    scratch = folder / "scratch"
    corpus = Album(folder / "corpora", scale, contenders.BackupFS.binary)
    print(f"{corpus.title}: building what is not there yet", flush=True)
    corpus.build()
    run["data"] = {
        "bytes": stored_bytes(corpus.folder), "files": sum(len(files) for _, _, files in os.walk(corpus.folder)),
        "database_bytes": corpus.database.stat().st_size, "title": corpus.title, "changed": corpus.changed_title}
    for round_number in range(rounds):
        print(f"  round {round_number + 1} of {rounds}", flush=True)
        # The contender that is first in one round is last in another.
        shift = round_number % len(kinds)
        for kind in kinds[shift:] + kinds[:shift]:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            with ObjectServer(scratch / "server") as server:
                run["versions"]["server"] = server.version
                with FreshFolder(scratch, run["data"]["bytes"], run["data"]["files"]) as target:
                    take_turn(
                        kind(scratch, runner, corpus, server), target,
                        lambda result: run["results"].append({"round": round_number, **result}))
    corpus.reset()
    shutil.rmtree(scratch, ignore_errors=True)
    return run
