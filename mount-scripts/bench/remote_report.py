"""The page's part about backing up to a server, and the bars that this project sets itself there."""

import statistics

from tables import circumstances, number, table, verdict

OURS = ("backupfs", "backupfs copy")
PEER = "restic"

TITLES = {
    "first-here": "first backup, here alone, cold", "first": "first upload, cold", "unchanged": "unchanged backup",
    "changed": "backup after small changes", "list": "`ls -lR` of a mounted backup",
    "list-fresh": "`ls -lR`, nothing known of it yet", "read": "4 KiB of a photo that was never read",
    "restore": "restore of everything, nothing known of it yet, cold",
}
# At most this part of the peer's time.
BARS = {"first": 0.8, "unchanged": 0.3, "list": 0.2, "list-fresh": 0.2}


class Results:
    def __init__(self, run):
        self.results = run["results"]
        self.contenders = [name for name in run["versions"] if name in (*OURS, PEER)]

    def values(self, step, contender, key) -> list:
        """Empty when the step failed in any round, or was not done."""
        found = [result for result in self.results if (result["step"], result["contender"]) == (step, contender)]
        return [] if any("failure" in result for result in found) else [result[key] for result in found]

    def median(self, step, contender, key):
        values = self.values(step, contender, key)
        return statistics.median(values) if values else None

    def was_done(self, step, contender) -> bool:
        return any((result["step"], result["contender"]) == (step, contender) for result in self.results)

    def was_stopped(self, step, contender) -> bool:
        return any(
            result.get("was_stopped") for result in self.results if (result["step"], result["contender"]) == (step, contender))


def cell(results, step, contender, key, shown) -> str:
    if not results.was_done(step, contender):
        return ""
    values = results.values(step, contender, key)
    if not values:
        return "failed"
    mark = "> " if key == "seconds" and results.was_stopped(step, contender) else ""
    text = mark + shown(statistics.median(values))
    return text if len(values) == 1 else f"{text} ({shown(min(values))} to {shown(max(values))})"


def value_table(results, key, shown) -> list:
    rows = [[title, *(cell(results, step, name, key, shown) for name in results.contenders)] for step, title in TITLES.items()]
    return table(["", *results.contenders], rows)


def bar_rows(results) -> list:
    rows = []
    for step, bar in BARS.items():
        theirs = results.median(step, PEER, "seconds")
        for name in OURS:
            if name not in results.contenders:
                continue
            ours = results.median(step, name, "seconds")
            if ours is None or theirs is None:
                known = all(results.was_done(step, one) for one in (name, PEER))
                rows.append([f"{TITLES[step]}, {name}", "-", f"{bar:g}", verdict(False) if known else "not measured"])
            else:
                rows.append([f"{TITLES[step]}, {name}", number(ours / theirs), f"{bar:g}", verdict(ours <= bar * theirs)])
    return rows


def megabytes(value: float) -> str:
    return f"{value / 1e6:.3f}"


def render(run) -> list:
    results = Results(run)
    data = run["data"]
    return [
        "# Remotes", "",
        f"{data['title'][0].upper()}{data['title'][1:]}: {data['files']:,} files, {data['bytes'] / 1e6:,.0f} MB, of which "
        f"{data['database_bytes'] / 1e6:,.0f} MB are the database. They are backed up to an object server on the loopback address of the "
        "same machine: nothing waits for a network, and the server takes its share of the processors. Each contender has a new server in "
        "each round. *backupfs* keeps its repository there, as restic does. *backupfs copy* keeps it on the disk, and uploads each backup: "
        "its first upload is that of a backup which was made before, the others are one command that does both. "
        f"*Small changes*: {data['changed']}. *Nothing known of it yet*: the program's own cache on this machine was put aside, as for a "
        "machine that never saw the backup. Restored files are compared with the original, byte by byte, after they were measured.", "",
        "**What is not equal.** backupfs computes CRC-32, MD5, SHA-1 and SHA-256 of every file, stores the records as JSON as well as in the "
        "database, and does not encrypt here; restic always encrypts.", "",
        *circumstances(run), "## Bars", "",
        *table(["", f"part of {PEER}'s time", "at most", ""], bar_rows(results)),
        "## Time", "", "Seconds:", "", *value_table(results, "seconds", number),
        "## What is asked of the server", "", "Requests:", "", *value_table(results, "requests", lambda value: f"{value:,.0f}"),
        "Megabytes of objects sent to the server:", "", *value_table(results, "received_bytes", megabytes),
        "Megabytes of objects that came from it:", "", *value_table(results, "sent_bytes", megabytes),
        "Megabytes by which the bucket grew:", "", *value_table(results, "grown_bytes", megabytes),
        "## Memory", "", "Peak megabytes of the largest process; of a mount, those of the process that serves it:", "",
        *value_table(results, "peak_bytes", lambda value: f"{value / 1e6:.0f}")]


def failures(run) -> list:
    return [
        f"remotes, {result['contender']}, {TITLES[result['step']]}: "
        + (" ".join(result["failure"].splitlines()[1:2]) or result["failure"])
        for result in run["results"] if "failure" in result]
