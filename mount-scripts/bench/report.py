"""From measurements to the page that people read."""

import backup_report
import mount_report


def render(backups, mounts) -> str:
    """Either may be None: not measured."""
    runs = [run for run in (backups, mounts) if run]
    lines = [
        "# Benchmarks", "",
        "Written by `make bench`, which makes the data, installs the peers and runs everything on the machine it is called on; "
        "run it to get your own.", "",
        "**How to read it.** All programs did the same work on the same data in turn, in several rounds, and whoever was first in "
        "one round was last in another. A cell is the median (and the least and the most). *At least* and *at most* are the bars "
        "that this project sets itself. Absolute numbers say little about another machine; ratios travel better, and differences "
        "of less than a fifth are noise.", "",
        ("*Cold* means that the system's caches were emptied before, so that everything came from the disk. "
         if all(run["drops_caches"] for run in runs) else
         "*Cold* would mean that the system's caches were emptied before; this run was not root's, which that takes, so **cold is "
         "warm here**. ")
        + "Everything written before is waited for (sync) before each measurement.", ""]
    failures = []
    if backups:
        lines += backup_report.render(backups)
        failures += backup_report.failures(backups)
    if mounts:
        lines += mount_report.render(mounts)
        failures += mount_report.failures(mounts)
    if failures:
        lines += ["# What failed", "", *(f"- {failure}" for failure in failures), ""]
    return "\n".join(lines)
