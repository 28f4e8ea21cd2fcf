"""Compares backupfs with restic and BorgBackup on the same data; see Docs/architecture.md, “Benchmarks”.

Environment: BENCH_DIR, ROUNDS, SCALE, CORPORA (as “a,b”), BACKUPFS_BINARY, BORG_BINARY.
"""

import datetime
import json
import os
import shutil
import sys
import time
from pathlib import Path

import contenders
import corpora
import report
from measure import FreshFolder, Runner, StepFailed, drop_caches, machine, may_drop_caches, settle, stored_bytes

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


def main() -> int:
    folder = Path(os.environ["BENCH_DIR"])
    scale = float(os.environ.get("SCALE") or 1)
    rounds = int(os.environ.get("ROUNDS") or 3)
    chosen = (os.environ.get("CORPORA") or "a,b,c").split(",")
    if not set(chosen) <= set(corpora.ALL) or rounds < 1 or scale <= 0:
        print("CORPORA is a list of a, b and c, ROUNDS at least 1, SCALE more than 0.", file=sys.stderr)
        return 2
    contenders.BackupFS.binary = Path(os.environ["BACKUPFS_BINARY"]).absolute()
    contenders.Borg.binary = os.environ.get("BORG_BINARY") or "borg"

    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"NOTE: the machine is busy (load {load:.1f}); the numbers will be worth little.", file=sys.stderr)
    if not may_drop_caches():
        print("NOTE: only root can drop caches; what says cold will be warm.", file=sys.stderr)

    run = {
        "date": datetime.date.today().isoformat(), "scale": scale, "rounds": rounds, "load": load,
        "drops_caches": may_drop_caches(), "machine": machine(folder),
        "versions": {kind.name: kind.version() for kind in contenders.ALL}, "corpora": {}, "results": [],
    }
    runner = Runner(folder / "commands.log")
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
            # Whoever comes first in one round comes last in another.
            shift = round_number % len(contenders.ALL)
            for kind in contenders.ALL[shift:] + contenders.ALL[:shift]:
                turn = {"corpus": letter, "round": round_number, "contender": kind.name}
                shutil.rmtree(scratch, ignore_errors=True)
                scratch.mkdir()
                with FreshFolder(scratch, description["bytes"], description["files"]) as target:
                    take_turn(
                        kind(scratch, runner, corpus), corpus, target,
                        lambda result: run["results"].append({**turn, **result}))
        corpus.reset()
    shutil.rmtree(scratch, ignore_errors=True)
    (folder / "results.json").write_text(json.dumps(run, indent=1))

    text = report.render(run)
    print("\n" + text)
    # What a smaller run finds is for whoever ran it only.
    is_whole = scale == 1 and set(chosen) == set(corpora.ALL) and rounds >= 3
    document = Path(__file__).parents[2] / "Docs" / "benchmarks.md" if is_whole else folder / "benchmarks.md"
    document.write_text(text)
    print(f"Written to {document}")
    return 1 if any("failure" in result for result in run["results"]) else 0


if __name__ == "__main__":
    sys.exit(main())
