"""Measures exporting, importing and checking records: contenders, in turn, at each step."""

import shutil
from pathlib import Path

import contenders
from measure import StepFailed
from record_data import RecordData

MILLION = 1_000_000
THOUSAND = 1_000
# How often each is done in a round: what takes hundredths of a second is at the mercy of whatever else the disk is doing.
TURNS = {MILLION: 1, THOUSAND: 5}

# What is measured, in this order, and with how many expenses at full scale. Each is a method of the contenders that take part.
STEPS = {
    "export": MILLION, "export_backup": MILLION, "live": MILLION, "import_empty": MILLION, "import_full": MILLION,
    "validate": MILLION, "preview": MILLION, "small_export": THOUSAND, "small_import": THOUSAND, "small_backup": THOUSAND,
}


def take_turn(contender, step: str, data) -> dict:
    result = {"step": step, "contender": contender.name}
    try:
        measurement = getattr(contender, step)(data)
        result |= {
            "seconds": measurement.seconds, "cpu_seconds": measurement.cpu_seconds, "peak_bytes": measurement.peak_bytes,
            "bytes": data.export.stat().st_size}
        print(
            f"    {contender.name:9} {step:14} {measurement.seconds:8.3f} s, processors {measurement.cpu_seconds:7.3f} s"
            f" {measurement.peak_bytes / 1e6:6.0f} MB", flush=True)
    except StepFailed as failure:
        result["failure"] = str(failure)
        print(f"    {contender.name:9} {step:14} FAILED: {failure}", flush=True)
    return result


def measure(folder: Path, scale: float, rounds: int, kinds: list, runner) -> dict:
    """What was found, as `record_report` takes it; `kinds` are who takes part."""
    run = {"versions": {kind.name: kind.version() for kind in kinds}, "data": {}, "results": []}
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    found = {}
    for count in (MILLION, THOUSAND):
        # A thousand is a thousand at every scale.
        scaled = max(1, round(count * scale)) if count == MILLION else count
        data = found[count] = RecordData(folder / "corpora", scaled, contenders.BackupFS.binary)
        print(f"{scaled:,} expenses: building what is not there yet", flush=True)
        data.build()
        run["data"][str(count)] = {
            "count": scaled, "export_bytes": data.export.stat().st_size, "database_bytes": data.database.stat().st_size}
    for round_number in range(rounds):
        print(f"  round {round_number + 1} of {rounds}", flush=True)
        # The contender that is first in one round is last in another.
        shift = round_number % len(kinds)
        for step, count in STEPS.items():
            for kind in kinds[shift:] + kinds[:shift]:
                for _ in range(TURNS[count] if hasattr(kind, step) else 0):
                    run["results"].append(
                        {"round": round_number} | take_turn(kind(scratch, runner), step, found[count]))
    shutil.rmtree(scratch, ignore_errors=True)
    return run
