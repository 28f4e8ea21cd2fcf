"""Contenders that take turns at steps: how one turn is measured, and what the page shows of all of them."""

import statistics

from measure import StepFailed
from tables import number, table


def take_turn(contender, step: str, data) -> dict:
    result = {"step": step, "contender": contender.name}
    try:
        measurement = getattr(contender, step)(data)
        result |= {
            "seconds": measurement.seconds, "cpu_seconds": measurement.cpu_seconds, "peak_bytes": measurement.peak_bytes,
            "read_bytes": measurement.read_bytes}
        print(
            f"    {contender.name:14} {step:12} {measurement.seconds:8.2f} s, processors {measurement.cpu_seconds:8.2f} s"
            f" {measurement.peak_bytes / 1e6:6.0f} MB", flush=True)
    except StepFailed as failure:
        result["failure"] = str(failure)
        print(f"    {contender.name:14} {step:12} FAILED: {failure}", flush=True)
    return result


def values(run, step, contender, key) -> list:
    """Empty when the step failed in any round, or was not done."""
    found = [result for result in run["results"] if (result["step"], result["contender"]) == (step, contender)]
    return [] if any(key not in result for result in found) else [result[key] for result in found]


def cell(run, step, contender, key, factor: float = 1) -> str:
    """The median, and the least and the most."""
    found = [value * factor for value in values(run, step, contender, key)]
    return f"{number(statistics.median(found))} ({number(min(found))} to {number(max(found))})" if found else ""


def resource_tables(run, titles: dict) -> list:
    """What each step took, for all contenders; `titles` has the steps in their order."""
    names = list(run["versions"])

    def rows(key, factor: float = 1) -> list:
        return [[title, *(cell(run, step, name, key, factor) for name in names)] for step, title in titles.items()]

    return [
        "Wall seconds:", "", *table(["", *names], rows("seconds")),
        "Seconds of processors:", "", *table(["", *names], rows("cpu_seconds")),
        "Peak memory of the largest process in megabytes:", "", *table(["", *names], rows("peak_bytes", 1e-6))]


def failures(run, titles: dict) -> list:
    return [
        f"{result['contender']}, {titles[result['step']]}: "
        + (" ".join(result["failure"].splitlines()[1:2]) or result["failure"])
        for result in run["results"] if "failure" in result]
