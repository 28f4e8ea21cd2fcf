"""Who reads photos and makes thumbnails of them, and how."""

import json
import os
import shutil
from pathlib import Path

import contenders
from measure import Measurement, StepFailed, drop_caches

SIDE = 256


class PhotoContender:
    """Steps are methods by their names; who has none for a step does not take part in it."""

    name = ""
    is_under_test = False

    def __init__(self, scratch: Path, runner):
        self.scratch = scratch
        self.runner = runner

    @property
    def output(self) -> Path:
        return self.scratch / "output.json"

    @property
    def thumbnails_folder(self) -> Path:
        return self.scratch / "thumbnails"

    def run(self, *command) -> Measurement:
        """From the disk, and with the output in a file, which a pipe or a terminal would slow down."""
        drop_caches()
        return self.runner.run(["sh", "-c", 'output=$1; shift; exec "$@" > "$output"', "sh", self.output, *command])

    def make_thumbnails(self, data, *command) -> Measurement:
        shutil.rmtree(self.thumbnails_folder, ignore_errors=True)
        self.thumbnails_folder.mkdir()
        measurement = self.run(*command)
        found = list(self.thumbnails_folder.iterdir())
        if len(found) != data.count or any(path.stat().st_size < 1000 for path in found):
            raise StepFailed(f"{self.name}: {len(found)} thumbnails of {data.count} photos")
        size = contenders.first_line(["vipsheader", found[0]]).split(": ")[1].split()[0]
        if size != f"{SIDE}x{SIDE * 3 // 4}":
            raise StepFailed(f"{self.name}: a thumbnail of {size} pixels")
        return measurement


class BackupFS(PhotoContender):
    name = "backupfs"
    is_under_test = True

    @classmethod
    def version(cls) -> str:
        return contenders.BackupFS.version()

    def metadata(self, data) -> Measurement:
        measurement = self.run(contenders.BackupFS.binary, "photo-info", "--json", *data.files)
        documents = [json.loads(line) for line in self.output.read_text().splitlines()]
        found = [document["metadata"] for document in documents if document["message_type"] == "photo"]
        if len(found) != data.count or any(fields["camera_make"] != "Acme" or fields["rating"] != 3 for fields in found):
            raise StepFailed("backupfs: the fields are not those of the photos")
        return measurement

    def thumbnails(self, data) -> Measurement:
        command = [contenders.BackupFS.binary, "photo-info", "--json", "--thumbnails", self.thumbnails_folder, *data.files]
        return self.make_thumbnails(data, *command)


class ExifTool(PhotoContender):
    name = "exiftool"

    @classmethod
    def version(cls) -> str:
        return "ExifTool " + contenders.first_line(["exiftool", "-ver"]) + ", -fast2 -json"

    def metadata(self, data) -> Measurement:
        measurement = self.run("exiftool", "-q", "-fast2", "-json", *data.files)
        found = json.loads(self.output.read_text())
        if len(found) != data.count or any(fields["Make"] != "Acme" or fields["Rating"] != 3 for fields in found):
            raise StepFailed("exiftool: the fields are not those of the photos")
        return measurement


class VipsThumbnail(PhotoContender):
    name = "vipsthumbnail"

    @classmethod
    def version(cls) -> str:
        return f"{contenders.first_line(['vips', '--version'])}, on {len(os.sched_getaffinity(0))} cores"

    def thumbnails(self, data) -> Measurement:
        target = f"{self.thumbnails_folder}/%s.jpg"
        return self.make_thumbnails(data, "vipsthumbnail", "--size", f"{SIDE}x{SIDE}", "--output", target, *data.files)


ALL = [BackupFS, ExifTool, VipsThumbnail]
