#!/usr/bin/env python3
"""large.py PROGRAM FOLDER [FILES]...: measures what takes how long with repositories of many files, chunks and snapshots (large_repository.py), made
anew in FOLDER: for each number of files a hundredth as many snapshots, and ten chunks for each file. Prints a table in Markdown: seconds of the clock
and of the processor, and the most memory that a process had. As root also with a medium that is mounted read-only.
"""

import calendar
import os
import pathlib
import shutil
import subprocess
import sys
import time

SOURCE = "0123456789abcdef0123456789abcdef"
MAKER = pathlib.Path(__file__).with_name("large_repository.py")


class Measure:
    """One repository and its store."""

    def __init__(self, program, folder, files):
        self.program, self.folder, self.files = program, folder, files
        self.repository, self.store = folder / "repository", folder / "store"
        self.rows = []
        home = folder / "home"
        shutil.rmtree(folder, ignore_errors=True)
        for path in [folder, home, folder / "media", folder / "mount"]:
            path.mkdir(parents=True)
        self.environment = dict(os.environ, HOME=str(home), BACKUPFS_SCHEDULE="off", BACKUPFS_STORE=str(self.store), TZ="UTC", LC_ALL="C.UTF-8")
        for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "LANGUAGE"]:
            self.environment.pop(name, None)

    def run(self, title, *words, expected=(0,)):
        """Runs a command and keeps its time and memory."""
        begin = time.monotonic()
        with open(self.folder / "output", "wb") as output:
            process = subprocess.Popen([self.program, *words], env=self.environment, stdout=output, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if process.returncode not in expected:
            text = (self.folder / "output").read_text(errors="replace")[-2000:]
            raise SystemExit(f"{title}: exit code {process.returncode}\n{text}")
        if title:
            self.rows.append((title, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))

    def make(self):
        snapshots = max(10, self.files // 100)
        words = [MAKER, "--files", str(self.files), "--snapshots", str(snapshots), self.repository]
        print(subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout.strip(), file=sys.stderr, flush=True)
        media = str(self.folder / "media")
        self.run("`init`, which makes the catalog", "init", "--repository", str(self.repository), "--adopt", SOURCE, "--app", "photo-library", "--media", media)
        return snapshots

    def mounted(self):
        """The mount, and a listing of all backups and of one folder."""
        mount = self.folder / "mount"
        begin = time.monotonic()
        daemon = subprocess.Popen([self.program, "mount", "-f", str(mount)], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.ismount(mount) and daemon.poll() is None and time.monotonic() < begin + 300:
            time.sleep(0.02)
        self.rows.append(("mount", time.monotonic() - begin, self._processor_seconds(daemon.pid), self._peak(daemon.pid)))
        for title, path in [("`ls -l snapshots`", "snapshots"), ("`ls -l` of a folder", "snapshots/latest/media/000/00001")]:
            begin, before = time.monotonic(), self._processor_seconds(daemon.pid)
            subprocess.run(["ls", "-l", mount / path], check=True, stdout=subprocess.DEVNULL)
            used = self._processor_seconds(daemon.pid) - before
            self.rows.append((title, time.monotonic() - begin, used, self._peak(daemon.pid)))
        subprocess.run(["fusermount3", "-u", mount], check=True)
        daemon.wait()

    def _peak(self, process):
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0

    def _processor_seconds(self, process):
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_only(self):
        path = str(self.repository)
        subprocess.run(["mount", "--bind", path, path], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
            self.run("`snapshots`, read-only medium", "snapshots", "--json")
        finally:
            subprocess.run(["umount", path], check=True)

    def lose_a_pack(self):
        pack = max(self.repository.glob("packs/*/*.pack"), key=lambda path: path.stat().st_size)
        pack.rename(self.folder / "lost.pack")
        self.run("`check`, one pack lost", "check", expected=(1,))

    def unchanged(self):
        """A backup of as many files of 160 bytes, 25,000 of each month, and one again of the same."""
        media = self.folder / "photos"
        for number in range(self.files):
            folder = media / f"{number // 10_000:03}" / f"{number // 100:05}"
            if number % 100 == 0:
                folder.mkdir(parents=True)
            photo = folder / f"IMG_{number:07}.jpg"
            photo.write_bytes(number.to_bytes(160, "little"))
            months = number // 25_000
            taken = calendar.timegm((2020 + months // 12, 1 + months % 12, 15, 12, 0, 0))
            os.utime(photo, (taken, taken))
        store = ["--store", str(self.folder / "own")]
        self.run("", "init", *store, "--app", "photo-library", "--media", str(media))
        time.sleep(3)
        self.run("first backup of as many files", "backup", *store)
        self.run("unchanged backup", "backup", *store)

    def everything(self):
        snapshots = self.make()
        self.run("`snapshots`", "snapshots", "--json")
        self.mounted()
        if os.geteuid() == 0:
            self.read_only()
        self.run("`check`", "check")
        self.run(f"`forget` of {snapshots - snapshots // 10}", "forget", "--keep-last", str(snapshots // 10), "--yes")
        self.run("`prune`", "prune")
        self.lose_a_pack()
        self.unchanged()
        shutil.rmtree(self.folder)
        return self.rows


def main():
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    sizes = [int(word) for word in sys.argv[3:]] or [10_000, 100_000, 1_000_000]
    columns = []
    for files in sizes:
        columns.append(Measure(program, folder / "large", files).everything())
        print(f"| {files:,} files, {files // 100:,} snapshots, {files * 11:,} chunks | seconds | of the processor | MB |\n| --- | ---: | ---: | ---: |")
        for title, seconds, used, megabytes in columns[-1]:
            print(f"| {title} | {seconds:.2f} | {used:.2f} | {megabytes:.0f} |")
        print(flush=True)


if __name__ == "__main__":
    main()
