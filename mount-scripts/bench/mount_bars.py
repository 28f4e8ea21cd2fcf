"""The bars that this project sets its mount."""

import statistics
from dataclasses import dataclass

OURS = "backupfs"
PEERS = ("restic", "borg")
MEMORY_LIMIT_BYTES = 150_000_000


@dataclass
class Bar:
    """How many times as fast as somebody we have to be."""

    title: str
    step: str
    at_least: float
    # The fastest of them counts.
    others: tuple
    # What they do instead.
    other_step: str = ""


def film_bars() -> list:
    return [
        Bar(f"large file, {title}", step, at_least, (other,))
        for title, step in (("cold", "film-cold"), ("first", "film-first"))
        for other, at_least in (("bindfs", 0.8), ("borg", 3), ("restic", 8))]


def archive_bars() -> list:
    return [
        bar
        for state in ("cold", "first")
        for bar in (
            Bar(f"`archive.zip`, {state}, by its photos through the same mount", f"archive-{state}", 0.7, (OURS,),
                f"photos-{state}"),
            Bar(f"`archive.zip`, {state}, by `zip -0`", f"archive-{state}", 8, ("restic",), "zip"))]


def long_list_bars() -> list:
    return [
        Bar(f"`ls -lR`, {state}", f"ls-{state}", at_least, (other,))
        for state in ("cold", "first") for other, at_least in (("borg", 1.4), ("restic", 6), ("bindfs", 2))]


BARS = [
    *film_bars(),
    Bar("large file, second, by the disk's page cache", "film-second", 0.8, ("disk",)),
    *archive_bars(),
    Bar("random reads, 1 at a time", "random-1", 20, PEERS),
    Bar("random reads, 4 at a time", "random-4", 20, PEERS),
    Bar("`find`, cold", "find-cold", 2, PEERS),
    Bar("`find`, first", "find-first", 2, PEERS),
    Bar("`find`, second", "find-second", 1, ("bindfs",)),
    *long_list_bars(),
    Bar("`tar`", "tar", 1.8, ("borg",)),
    Bar("mount until the first `ls`", "mount", 4, PEERS),
]


def speed(result) -> float:
    """More is faster: bytes or reads per second where there are any, else times per second."""
    return (result.get("bytes") or result.get("reads") or 1) / result["seconds"]


class MountResults:
    def __init__(self, run):
        self.contenders = list(run["versions"])
        self.results = run["results"]

    def of(self, step, contender) -> list:
        """Empty when it failed in any round, or was not done."""
        found = [result for result in self.results if (result["step"], result["contender"]) == (step, contender)]
        return [] if any("failure" in result for result in found) else found

    def has_failed(self, step, contender) -> bool:
        return any(
            "failure" in result and (result["step"], result["contender"]) in ((step, contender), ("prepare", contender))
            for result in self.results)

    def median_speed(self, step, contender):
        found = self.of(step, contender)
        return statistics.median(map(speed, found)) if found else None

    def was_stopped(self, step, contender) -> bool:
        return any(result["was_stopped"] for result in self.of(step, contender))

    def ratio(self, bar):
        """By the fastest of the others, and whose that is; None when something is missing."""
        ours = self.median_speed(bar.step, OURS)
        theirs = {other: self.median_speed(bar.other_step or bar.step, other) for other in bar.others}
        known = {other: value for other, value in theirs.items() if value is not None}
        if ours is None or not known:
            return None
        other = max(known, key=known.get)
        return ours / known[other], other

    def peak_bytes(self) -> int | None:
        """The most that our process ever took, in all steps."""
        return max(
            (result["peak_bytes"] for result in self.results if result["contender"] == OURS and "peak_bytes" in result),
            default=None)
