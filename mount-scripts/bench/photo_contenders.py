"""Who reads photos and makes thumbnails of them, and how."""

import json
import os
import shutil
from pathlib import Path

import contenders
from daemon import Daemon
from measure import Measurement, StepFailed, drop_caches
from object_server import BUCKET, ObjectServer

SIDE = 256
# Where the programs lie that come from PyPI, as for the tests.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TOOLS = Path(os.environ.get("BACKUPFS_TEST_TOOLS") or CACHE / "backupfs-test") / "venv" / "bin"


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

    def run(self, *command, environment=None) -> Measurement:
        """From the disk, and with the output in a file, which a pipe or a terminal would slow down."""
        drop_caches()
        return self.runner.run(
            ["sh", "-c", 'output=$1; shift; exec "$@" > "$output"', "sh", self.output, *command], environment=environment)

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


class Uploader(PhotoContender):
    def upload(self, data) -> Measurement:
        """Into a new bucket, which has the photos then."""
        with ObjectServer(self.scratch / "server") as server:
            measurement = self.upload_to(server, data)
            found = server.stored_bytes()
        if found < data.stored_bytes:
            raise StepFailed(f"{self.name}: the bucket has {found} bytes of {data.stored_bytes}")
        return measurement


class BackupFS(Uploader):
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

    @property
    def store(self) -> Path:
        return self.scratch / "photo-store"

    def first(self, data) -> Measurement:
        shutil.rmtree(self.store, ignore_errors=True)
        self.runner.run([
            contenders.BackupFS.binary, "init", "--store", self.store, "--app", "photo-library", "--media", data.stored_folder])
        measurement = self.back_up("first")
        mountpoint = Path(os.environ["BENCH_DIR"]) / "mounts" / "photos"
        command = [contenders.BackupFS.binary, "mount", "--foreground", "--store", self.store, mountpoint]
        with Daemon(command, mountpoint, {}, self.runner.log):
            lines = (mountpoint / "snapshots" / "first" / "photos.jsonl").read_text().splitlines()
        photos = [json.loads(line) for line in lines]
        if len(photos) != data.stored_count or not all(photo["status"] == "read" and photo["thumbnail"] for photo in photos):
            raise StepFailed("backupfs: not all photos were read")
        return measurement

    def second(self, data) -> Measurement:
        return self.back_up("second")

    def back_up(self, label: str) -> Measurement:
        return self.run(contenders.BackupFS.binary, "backup", "--store", self.store, "--label", label)

    def upload_to(self, server, data) -> Measurement:
        environment = server.environment()
        url = f"s3:{server.endpoint}/{BUCKET}"
        self.runner.run(
            [contenders.BackupFS.binary, "remote", "add", "photos", url, "--kind", "photos", "--store", self.store],
            environment=environment)
        command = [contenders.BackupFS.binary, "star", "--rule", "date>=2024", "--store", self.store]
        measurement = self.run(*command, environment=environment)
        self.runner.run([
            "sh", "-c", '"$1" star --list --json --store "$2" > "$3"', "sh", contenders.BackupFS.binary, self.store, self.output])
        stages = [star["stage"] for star in json.loads(self.output.read_text())]
        if stages != ["uploaded"] * data.stored_count:
            raise StepFailed(f"backupfs: {stages.count('uploaded')} photos of {data.stored_count} are uploaded")
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


class Rclone(Uploader):
    name = "rclone"
    program = TOOLS / "rclone"

    @classmethod
    def version(cls) -> str:
        return contenders.first_line([cls.program, "version"]) + ", copy with --transfers 4, its default"

    def upload_to(self, server, data) -> Measurement:
        values = server.environment()
        settings = {
            "TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": server.endpoint, "REGION": values["AWS_REGION"],
            "ACCESS_KEY_ID": values["AWS_ACCESS_KEY_ID"], "SECRET_ACCESS_KEY": values["AWS_SECRET_ACCESS_KEY"]}
        environment = {f"RCLONE_CONFIG_BENCH_{key}": value for key, value in settings.items()} | {"RCLONE_CONFIG": "/dev/null"}
        return self.run(
            self.program, "copy", data.stored_folder, f"bench:{BUCKET}/photos", environment=environment)


ALL = [BackupFS, ExifTool, VipsThumbnail, Rclone]
