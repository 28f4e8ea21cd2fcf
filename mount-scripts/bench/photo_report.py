"""The page's part about photos, and the bars that this project sets itself there."""

import statistics

import steps
from tables import circumstances, number, table, verdict

OURS = "backupfs"
TITLES = {
    "metadata": "the fields of all photos, cold", "thumbnails": "thumbnails of all photos, cold",
    "first": "first backup of a part, cold", "second": "second backup of the same, cold",
    "upload": "upload of the part to a bucket, cold"}
# Whom we are compared with, and how much of their time we may take. Without a number it is shown only.
BARS = {"metadata": ("exiftool", 0.3), "thumbnails": ("vipsthumbnail", 1.0), "upload": ("rclone", None)}
# A second backup reads the program, folders and what it knows of the photos, and none of the photos: this part of their bytes at most.
SECOND_READS = 0.02


def bar_row(run, step) -> list:
    other, at_most = BARS[step]
    ours, theirs = (steps.values(run, step, name, "seconds") for name in (OURS, other))
    bar = "" if at_most is None else f"{at_most:g}"
    if not ours or not theirs:
        return [TITLES[step], other, "-", bar, "not measured" if other not in run["versions"] else verdict(False)]
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [TITLES[step], other, number(ratio), bar, "" if at_most is None else verdict(ratio <= at_most)]


def second_row(run) -> list:
    title = "bytes that the second backup reads"
    found = steps.values(run, "second", OURS, "read_bytes")
    if not found:
        return [title, "the photos", "-", f"{SECOND_READS:g}", verdict(False)]
    part = statistics.median(found) / run["stored_bytes"]
    return [title, "the photos", number(part), f"{SECOND_READS:g}", verdict(part <= SECOND_READS)]


def render(run) -> list:
    return [
        "# Photos", "",
        f"{run['count']:,} JPEGs of 12 megapixels with Exif and XMP ({run['bytes'] / 1e6:,.0f} MB): `backupfs photo-info` beside "
        "`exiftool -fast2 -json` and `vipsthumbnail` of the same files, each in one call with the number of processes and threads "
        f"that it chooses by itself on {run['cores']} cores. *Part of the time* is our median wall time by theirs.", "",
        "**What is not equal.** ExifTool reads all tags, and works on one core. Our photos are read by processes in a sandbox. Our "
        "thumbnails are below 50,000 bytes, without tags and durable when the command ends (one sync), and `photo-info` reads the "
        "fields of each photo as well. Both make at most 256 × 256 pixels with libvips.", "",
        f"A part of them, {run['stored_count']:,} ({run['stored_bytes'] / 1e6:,.0f} MB), is backed up twice, and uploaded by `backupfs star` "
        "beside `rclone copy`, each to a SeaweedFS of its own on this machine. For each photo we send a thumbnail and a file of fields, too, "
        "compute MD5 and SHA-256 before, and keep a queue that survives a crash.", "",
        *circumstances(run), "## Bars of photos", "",
        *table(["", "by", "part", "at most", ""], [*(bar_row(run, step) for step in BARS), second_row(run)]),
        *steps.resource_tables(run, TITLES)]


def failures(run) -> list:
    return steps.failures(run, TITLES)
