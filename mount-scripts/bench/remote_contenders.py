"""The programs that back up to an object server: the repository itself there, or a copy of one that is here."""

import os
import shutil
from pathlib import Path

import contenders
from daemon import Daemon
from object_server import BUCKET


class RemoteContender:
    name = ""
    is_under_test = False
    # Whether a first backup ends on this machine, and is uploaded then.
    uploads_afterwards = False

    def __init__(self, scratch: Path, runner, corpus, server):
        self.scratch = scratch
        self.runner = runner
        self.corpus = corpus
        self.server = server
        # Nothing is ever removed below a mount: this is no part of a folder that is emptied.
        self.mountpoint = Path(os.environ["BENCH_DIR"]) / "mounts" / self.name.replace(" ", "-")

    @property
    def url(self) -> str:
        return f"s3:{self.server.endpoint}/{BUCKET}/data"

    def environment(self) -> dict:
        return self.server.environment() | {"HOME": str(self.scratch)}

    def put_aside(self, cache: Path):
        """Takes a cache away without removing its files: ext4 is slow to make new ones just after that, which a machine that never
        saw the backup does not know."""
        aside = self.scratch / "aside"
        aside.mkdir(exist_ok=True)
        cache.rename(aside / str(len(os.listdir(aside))))

    def run(self, *command):
        return self.runner.run(command, environment=self.environment())

    def mounted(self):
        return Daemon(self.mount_command(), self.mountpoint, self.environment(), self.runner.log)


class BackupFSServer(RemoteContender):
    """Keeps its repository on the server."""

    name = "backupfs"
    is_under_test = True

    version = contenders.BackupFS.version

    @property
    def binary(self) -> Path:
        return contenders.BackupFS.binary

    @property
    def store(self) -> Path:
        return self.scratch / "store"

    def init(self, *options):
        self.run(
            self.binary, "init", "--store", self.store, "--database", self.corpus.database, "--app",
            Path(__file__).parent / "media-app.yaml", "--media", self.corpus.media, *options)

    def prepare(self):
        self.init("--repository", self.url)

    def back_up(self, label: str):
        return self.run(self.binary, "backup", "--store", self.store, "--label", label)

    def caches(self) -> list:
        return list(self.store.glob("remotes/*/cache"))

    def forget_caches(self):
        for cache in self.caches():
            self.put_aside(cache)

    def mount_command(self) -> list:
        return [self.binary, "mount", "--foreground", "--store", self.store, self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / "snapshots" / "changed" / "media"

    def restore(self, target: Path):
        return self.run(self.binary, "restore", "changed", "--target", target, "--store", self.store)

    def verify_restored(self, target: Path):
        contenders.BackupFS.verify_restored(self, target)


class BackupFSCopy(BackupFSServer):
    """Keeps its repository here, and a copy on the server, to which each backup is uploaded."""

    name = "backupfs copy"
    uploads_afterwards = True

    def prepare(self):
        self.init()
        self.run(self.binary, "remote", "add", "server", self.url, "--store", self.store)

    def back_up_here(self, label: str):
        return self.run(self.binary, "backup", "--no-sync", "--store", self.store, "--label", label)

    def upload(self):
        return self.run(self.binary, "sync", "--store", self.store)

    @property
    def media(self) -> Path:
        return self.mountpoint / "remotes" / "server" / "backups" / "changed" / "media"

    def restore(self, target: Path):
        return self.run(self.binary, "restore", "changed", "--remote", "server", "--target", target, "--store", self.store)


class ResticServer(RemoteContender):
    name = "restic"

    version = contenders.Restic.version

    def environment(self) -> dict:
        return super().environment() | {
            "RESTIC_REPOSITORY": self.url, "RESTIC_PASSWORD": "bench", "RESTIC_CACHE_DIR": str(self.scratch / "cache")}

    def prepare(self):
        self.run("restic", "init")

    def back_up(self, label: str):
        return self.run("restic", "backup", "--quiet", "--tag", label, self.corpus.folder)

    def forget_caches(self):
        self.put_aside(self.scratch / "cache")

    def mount_command(self) -> list:
        return ["restic", "mount", self.mountpoint]

    @property
    def media(self) -> Path:
        return self.mountpoint / "snapshots" / "latest" / self.corpus.media.relative_to("/")

    def restore(self, target: Path):
        return self.run("restic", "restore", "--quiet", "--target", target, "latest")

    def verify_restored(self, target: Path):
        contenders.Contender.verify_restored(self, target)


ALL = [BackupFSServer, BackupFSCopy, ResticServer]
