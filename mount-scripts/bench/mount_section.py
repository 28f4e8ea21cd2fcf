"""Measures what is done through mounts: contenders, in turn, on each kind of data."""

import os
import shutil
import sys
import time
from pathlib import Path

import contenders
import mount_data
from measure import StepFailed, drop_caches, settle, stored_bytes
from mount_steps import LAST_COLD, SLOW_SECONDS, STEPS


def show(contender, step, result):
    """A line for whoever waits."""
    if "failure" in result:
        text = f"FAILED: {result['failure']}"
    else:
        text = f"{result['seconds']:8.3f} s"
        if result["was_stopped"]:
            text += " (stopped)"
        if "bytes" in result:
            text += f" {result['bytes'] / 1e6 / result['seconds']:8.0f} MB/s"
        if "reads" in result:
            text += f" {result['reads'] / result['seconds']:8.0f} reads/s"
        if "peak_bytes" in result:
            text += f", daemon {result['resident_bytes'] / 1e6:.0f} MB (at most {result['peak_bytes'] / 1e6:.0f})"
    print(f"    {contender.name:10} {step.name:14} {text}", flush=True)


def do_step(contender, step, begin: float, daemon) -> dict | None:
    result = step.act(contender)
    if result is None:
        return None
    if step.counts_mount:
        result["seconds"] = time.monotonic() - begin
    if daemon:
        result |= daemon.memory()
    return result


def with_mount(contender, steps, record):
    """Does the steps one after another in one mount."""
    if steps[0].is_cold:
        drop_caches()
    else:
        settle()
    done = []
    step = steps[0]
    try:
        begin = time.monotonic()
        with contender.mounted() as daemon:
            for step in steps:
                if done and done[-1]["seconds"] > SLOW_SECONDS:
                    break
                result = do_step(contender, step, begin, daemon)
                if result is None:
                    break
                done.append(result)
                show(contender, step, result)
                record({"step": step.name, **result})
    except StepFailed as failure:
        result = {"failure": str(failure)}
        show(contender, step, result)
        record({"step": step.name, **result})


def groups(steps) -> list:
    """Steps that share a mount."""
    found = []
    for step in steps:
        if step.is_fresh:
            found.append([])
        found[-1].append(step)
    return found


def read_sources(contender):
    """Everything that is behind the mount is in memory then, where it says neither cold nor otherwise."""
    for source in contender.sources():
        contender.runner.run(["bash", "-c", 'set -o pipefail; tar -cf - "$1" | cat > /dev/null', "bash", source])


def check(contender):
    """Whoever shows something else is not compared."""
    expected = sorted(os.listdir(contender.data.media / contender.data.sample))
    with contender.mounted():
        shown = sorted(os.listdir(contender.media / contender.data.sample))
    if shown != expected:
        raise StepFailed(f"it shows {len(shown)} names instead of {len(expected)}")


def take_turn(contender, record):
    for steps in groups(STEPS[contender.data.letter]):
        with_mount(contender, steps, record)
        if steps[0].name == LAST_COLD:
            read_sources(contender)


def prepare(kinds, scratch: Path, runner, data, record) -> list:
    """The contenders with what they mount, but for those that cannot."""
    prepared = []
    for kind in kinds:
        print(f"  {kind.name}: preparing", flush=True)
        contender = kind(scratch / f"{kind.name}-{data.letter}", runner, data)
        try:
            contender.prepare()
            check(contender)
            prepared.append(contender)
        except (StepFailed, OSError) as failure:
            print(f"    {kind.name} FAILED: {failure}", flush=True)
            record({"contender": kind.name, "step": "prepare", "failure": str(failure)})
    return prepared


def measure(folder: Path, scale: float, rounds: int, chosen: list, kinds: list, runner) -> dict:
    """What was found, as `mount_report` takes it; `chosen` are letters of corpora, `kinds` who takes part."""
    for kind in kinds:
        if not kind.is_available():
            print(f"NOTE: {kind.name} is not there, and is not compared with.", file=sys.stderr)
    kinds = [kind for kind in kinds if kind.is_available()]
    run = {"versions": {kind.name: kind.version() for kind in kinds}, "data": {}, "results": []}
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    for data in mount_data.build(folder, scale, contenders.BackupFS.binary, scratch, chosen):
        mount_data.write_archive(data)
        prepared = prepare(kinds, scratch, runner, data, run["results"].append)
        run["data"][data.letter] = {
            "bytes": stored_bytes(data.media), "files": sum(len(files) for _, _, files in os.walk(data.media))}
        for round_number in range(rounds):
            print(f"  round {round_number + 1} of {rounds}", flush=True)
            # The contender that is first in one round is last in another.
            shift = round_number % len(prepared)
            for contender in prepared[shift:] + prepared[:shift]:
                turn = {"round": round_number, "contender": contender.name}
                take_turn(contender, lambda result: run["results"].append({**turn, **result}))
    shutil.rmtree(scratch, ignore_errors=True)
    return run
