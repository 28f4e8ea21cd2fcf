"""The page's part about how soon the mount answers, and the bars that this project sets itself there."""

import statistics

from tables import circumstances, table, verdict

MEDIAN_LIMIT = 50
SLOWEST_LIMIT = 300

LOADS = {
    "nothing": "nothing", "backup": "a backup by `mkdir`", "restore": "a restore of half of the files",
    "lock": "the app keeps its database locked", "readers": "16 programs read all of `live/`",
    "stalled": "the repository's storage stalls", "gone": "the repository's disk is unmounted"}
LOOKS = {"root": "`ls MOUNT`", "snapshots": "`ls MOUNT/snapshots/`", "status": "`cat MOUNT/status.json`"}


def percentile(values, part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def passes(values) -> bool:
    return statistics.median(values) < MEDIAN_LIMIT and max(values) <= SLOWEST_LIMIT


def row(result) -> list:
    first = [LOADS[result["load"]], LOOKS[result["look"]]]
    values = result.get("milliseconds")
    if not values:
        return [*first, "failed", "", "", "", verdict(False)]
    numbers = [statistics.median(values), percentile(values, 0.99), max(values)]
    return [*first, f"{len(values):,}", *(f"{value:.1f}" for value in numbers), verdict(passes(values) and "failure" not in result)]


def render(run) -> list:
    amount = f"{run['data']['files']:,} media files, {run['data']['bytes'] / 1e6:,.0f} MB"
    return [
        "# Responsiveness", "",
        f"How soon the mount answers while something else goes on, of a store with {amount}, whose repository lies on a bindfs that can be stopped: "
        "the time of the whole command, with its start, again and again for as long as the load is there (20 seconds where it does not end by "
        f"itself). The median has to be less than {MEDIAN_LIMIT} ms, the slowest at most {SLOWEST_LIMIT} ms. Without its disk, "
        "`ls MOUNT/snapshots/` says that it is an input/output error, which is an answer as well.", "",
        *circumstances(run),
        *table(["meanwhile", "command", "times", "median, ms", "99%, ms", "slowest, ms", ""], [row(result) for result in run["results"]])]


def failures(run) -> list:
    return [
        f"responsiveness, {LOADS[result['load']]}, {LOOKS[result['look']]}: {result['failure']}"
        for result in run["results"] if "failure" in result]
