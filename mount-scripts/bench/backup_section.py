"""Measures backing up, restoring and checking: contenders, in turn, on each corpus."""

import os
import shutil
import time
from pathlib import Path

import contenders
import corpora
from measure import FreshFolder, StepFailed, drop_caches, settle, stored_bytes

# What is measured, in this order; `cold` where the caches are dropped before.
STEPS = [
    ("first", True), ("unchanged", False), ("unchanged-cold", True), ("changed", False), ("added", False),
    ("restore", True), ("check", True),
]

# Times of files have steps, so backup programs read again what was changed a moment before. Real data is older than that.
AGE_SECONDS = 4


def run_step(contender, step: str, target: Path):
    if step == "restore":
        measurement = contender.restore("changed", target)
        contender.verify_restored(target)
        return measurement
    if step == "check":
        return contender.check()
    return contender.back_up(step)


def take_turn(contender, corpus, target: Path, record):
    """One contender does all the work once, in a repository of its own."""
    corpus.reset()
    contender.prepare()
    for step, is_cold in STEPS:
        if step == "changed":
            corpus.change()
        elif step == "added":
            corpus.add()
        elif step == "restore":
            # What is restored is the state after the change.
            corpus.reset()
            corpus.change()
        if step in ("first", "changed", "added"):
            time.sleep(AGE_SECONDS)
        if is_cold:
            drop_caches()
        else:
            settle()
        result = {"step": step}
        try:
            before = contender.repository_bytes()
            measurement = run_step(contender, step, target)
            result["seconds"] = measurement.seconds
            result["peak_bytes"] = measurement.peak_bytes
            result["grown_bytes"] = contender.repository_bytes() - before
            result["cache_bytes"] = contender.cache_bytes()
            print(
                f"    {contender.name:9} {step:15} {measurement.seconds:8.2f} s {measurement.peak_bytes / 1e6:7.0f} MB",
                flush=True)
        except StepFailed as failure:
            result["failure"] = str(failure)
            print(f"    {contender.name:9} {step:15} FAILED: {failure}", flush=True)
        record(result)


def measure(folder: Path, scale: float, rounds: int, chosen: list, kinds: list, runner) -> dict:
    """What was found, as `backup_report` takes it; `chosen` are letters of corpora, `kinds` who takes part."""
    run = {"versions": {kind.name: kind.version() for kind in kinds}, "corpora": {}, "results": []}
    scratch = folder / "scratch"
    for letter in chosen:
        corpus = corpora.ALL[letter](folder / "corpora", scale, contenders.BackupFS.binary)
        print(f"{corpus.title}: building what is not there yet", flush=True)
        corpus.build()
        description = run["corpora"][letter] = {
            "title": corpus.title, "changed": corpus.changed_title, "added": corpus.added_title,
            "bytes": stored_bytes(corpus.folder), "files": sum(len(files) for _, _, files in os.walk(corpus.folder)),
        }
        for round_number in range(rounds):
            print(f"  round {round_number + 1} of {rounds}", flush=True)
            # The contender that is first in one round is last in another.
            shift = round_number % len(kinds)
            for kind in kinds[shift:] + kinds[:shift]:
                turn = {"corpus": letter, "round": round_number, "contender": kind.name}
                shutil.rmtree(scratch, ignore_errors=True)
                scratch.mkdir()
                with FreshFolder(scratch, description["bytes"], description["files"]) as target:
                    take_turn(
                        kind(scratch, runner, corpus), corpus, target,
                        lambda result: run["results"].append({**turn, **result}))
        corpus.reset()
    shutil.rmtree(scratch, ignore_errors=True)
    return run
