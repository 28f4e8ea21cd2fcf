"""What is done through mounts, for each of the two kinds of data, in this order."""

import json
import os
from dataclasses import dataclass
from typing import Callable

from measure import Measurement

# A step that takes longer is stopped, and counts as if it had taken this long.
LIMIT_SECONDS = 60
# A contender that took longer at first is not measured a second time.
SLOW_SECONDS = 8
RANDOM_SECONDS = 5


@dataclass
class Step:
    name: str
    # Does it, and returns what was measured: `seconds` and, for what has a rate, `bytes` or `reads`. None: cannot do it.
    act: Callable
    # In a mount made for it; otherwise in that of the step before.
    is_fresh: bool = True
    is_cold: bool = False
    # The time counts from the mount's beginning.
    counts_mount: bool = False


def seconds(measurement: Measurement) -> dict:
    return {"seconds": measurement.seconds, "was_stopped": measurement.was_stopped}


def command(*words):
    """Runs a command in the media folder."""
    def act(contender):
        return seconds(contender.runner.run(words, folder=contender.media, limit_seconds=LIMIT_SECONDS, is_silent=True))
    return act


def of_folders(act):
    """Not for mounts of archives: the slowest of them would take the longest, and nothing is compared with them there."""
    return lambda contender: None if contender.serves_archive else act(contender)


def read_film(contender):
    film = contender.media / "film.mp4"
    if contender.serves_archive:
        return None
    result = seconds(contender.runner.run(["cat", film], limit_seconds=LIMIT_SECONDS, is_silent=True))
    return result | {"bytes": os.stat(film).st_size}


def read_photos(contender):
    if contender.is_zipped and not contender.archive:
        # They are read by `zip` below, which is what takes time.
        return None
    photos = [f"photos/{name}" for name in contender.data.photos]
    result = seconds(contender.runner.run(
        ["cat", *photos], folder=contender.media, limit_seconds=LIMIT_SECONDS, is_silent=True))
    return result | {"bytes": sum(os.stat(contender.data.media / photo).st_size for photo in photos)}


def read_archive(contender):
    if not contender.archive:
        return None
    result = seconds(contender.runner.run(["cat", contender.archive], limit_seconds=LIMIT_SECONDS, is_silent=True))
    return result | {"bytes": os.stat(contender.archive).st_size}


def zip_photos(contender):
    if not contender.is_zipped:
        return None
    words = ["zip", "-0", "-q", "-r", "-", "photos"]
    result = seconds(contender.runner.run(words, folder=contender.media, limit_seconds=LIMIT_SECONDS, is_silent=True))
    return result | {"bytes": sum(os.stat(contender.data.media / "photos" / name).st_size for name in contender.data.photos)}


def read_randomly(job_count: int):
    def act(contender):
        if contender.serves_archive:
            return None
        output = contender.runner.log.with_name("fio.json")
        # Each job has a part of the file, and each block is read once: no page is met again. And what the disk's cache has of
        # what is behind the mount stays (invalidate).
        part = f"{100 // job_count}%"
        contender.runner.run([
            "fio", "--name=random", f"--filename={contender.media / 'film.mp4'}", "--readonly", "--rw=randread", "--bs=4k",
            f"--size={part}", f"--offset_increment={part}", f"--numjobs={job_count}", f"--runtime={RANDOM_SECONDS}",
            "--invalidate=0", "--ioengine=psync", "--thread", "--group_reporting", "--output-format=json",
            f"--output={output}"], folder=output.parent)
        [job] = json.loads(output.read_text())["jobs"]
        output.unlink()
        # It counts milliseconds.
        return {"seconds": max(job["read"]["runtime"], 1) / 1000, "reads": job["read"]["total_ios"], "was_stopped": False}
    return act


def do_all(*acts):
    """One mount bears everything, for its memory."""
    def act(contender):
        if not contender.is_under_test:
            return None
        results = [one(contender) for one in acts]
        return {"seconds": sum(result["seconds"] for result in results), "was_stopped": False}
    return act


LIST = command("ls")
FIND = command("find", ".")
LIST_LONG = command("ls", "-lR")
STAT = command("find", ".", "-printf", "%s %T@\n")
# GNU tar does not read what it writes to /dev/null.
ARCHIVE = command("bash", "-c", "set -o pipefail; tar -cf - . | cat > /dev/null")

LAST_COLD = "ls-cold"

STEPS = {
    "b": [
        Step("mount-cold", LIST, is_cold=True, counts_mount=True),
        Step("find-cold", of_folders(FIND), is_cold=True),
        # After it, what is behind the mount is read, for all that is not cold.
        Step(LAST_COLD, of_folders(LIST_LONG), is_cold=True),
        Step("mount", LIST, counts_mount=True),
        Step("find-first", FIND), Step("find-second", FIND, is_fresh=False),
        Step("ls-first", LIST_LONG), Step("ls-second", LIST_LONG, is_fresh=False),
        Step("stat-first", STAT), Step("stat-second", STAT, is_fresh=False),
        Step("tar", ARCHIVE),
        Step("all-documents", do_all(FIND, LIST_LONG, STAT, ARCHIVE)),
    ],
    "a": [
        Step("film-cold", read_film, is_cold=True),
        Step("film-first", read_film), Step("film-second", read_film, is_fresh=False),
        Step("random-1", read_randomly(1)), Step("random-4", read_randomly(4)),
        Step("photos-cold", read_photos, is_cold=True), Step("photos-first", read_photos),
        Step("archive-cold", read_archive, is_cold=True),
        Step("archive-first", read_archive), Step("archive-second", read_archive, is_fresh=False),
        Step("zip", zip_photos),
        Step("all-photos", do_all(read_film, read_photos, read_archive, zip_photos, read_randomly(4))),
    ],
}
