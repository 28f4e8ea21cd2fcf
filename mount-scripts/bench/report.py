"""From measurements to the page that people read."""

import backup_report
import copy_report
import mount_report
import photo_report
import record_report
import remote_report
import responsiveness_report

# In the order of the page.
SECTIONS = {
    "backups": backup_report, "mounts": mount_report, "remote": remote_report, "records": record_report,
    "responsiveness": responsiveness_report, "photos": photo_report, "copy": copy_report}
HEADINGS = {
    "backups": "# Backups", "mounts": "# Mounts", "remote": "# Remotes", "records": "# Records",
    "responsiveness": "# Responsiveness", "photos": "# Photos", "copy": "# Copies"}


def kept(page: str) -> dict:
    """The sections of a page that was written before, as lines: for what nobody has measured since."""
    found = {}
    lines = None
    for line in page.splitlines():
        if line.startswith("# "):
            section = next((name for name, heading in HEADINGS.items() if heading == line), None)
            lines = None if section is None else found.setdefault(section, [])
        if lines is not None:
            lines.append(line)
    return found


def render(runs: dict, kept_lines: dict) -> str:
    """A section is of a run, or else what `kept_lines` has of it, or else not there."""
    measured = [run for run in runs.values() if run]
    lines = [
        "# Benchmarks", "",
        "Written by `make bench`, which makes the data, installs the peers and runs everything on the machine it is called on; "
        "run it to get your own.", "",
        "**How to read it.** All programs did the same work on the same data in turn, in several rounds, and the one that was first in "
        "one round was last in another. A cell is the median (and the least and the most). *At least* and *at most* are the bars "
        "that this project sets itself. Absolute numbers say little about another machine; ratios travel better, and differences "
        "of less than a fifth are noise.", "",
        ("*Cold* means that the system's caches were emptied before, so that everything came from the disk. "
         if all(run["drops_caches"] for run in measured) else
         "*Cold* would mean that the system's caches were emptied before; this run was not root's, which that takes, so **cold is "
         "warm here**. ")
        + "Everything written before is waited for (sync) before each measurement.", ""]
    failures = []
    for section, reporter in SECTIONS.items():
        if runs[section]:
            lines += reporter.render(runs[section])
            failures += reporter.failures(runs[section])
        elif section in kept_lines:
            lines += kept_lines[section]
    if failures:
        lines += ["# What failed", "", *(f"- {failure}" for failure in failures), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
