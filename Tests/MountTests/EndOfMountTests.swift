import Glibc
import TestSupport
import Testing

/// A mount that ends while it is in use: a reader gets the right bytes or an error, an operation happens completely or not at
/// all, and nothing is left behind.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct EndOfMountTests {
    /// Runs a test with a mounted backup `one`, whose photo `big.raw` has 5 MB, and unmounts afterwards.
    private func withBackup(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh("head -c 5000000 /dev/urandom > $P/big.raw")
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one")
            try body(sandbox)
            if !sandbox.mounts.isEmpty { try sandbox.unmount() }
        }
    }

    /// Four threads read whole files repeatedly, including files that the kernel does not cache, and compare each byte until they
    /// get an error. Touches `$R/reading` when all have begun.
    private static let readers = """
        import errno, os, threading
        M, R = os.environ["M"], os.environ["R"]
        names = ["live/archive.tar", "live/archive.zip", "snapshots/one/archive.tar", "snapshots/one/media/big.raw"]
        wanted = {name: open(f"{M}/{name}", "rb").read() for name in names}
        ends, begun = [], threading.Barrier(5)

        def read(name):
            turns = 0
            try:
                while True:
                    with open(f"{M}/{name}", "rb", buffering=0) as file:
                        offset = 0
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                        while block := file.read(100_003):
                            if block != wanted[name][offset:offset + len(block)]: return ends.append(f"{name}: wrong bytes at {offset}")
                            offset += len(block)
                        if offset != len(wanted[name]): return ends.append(f"{name}: ends at {offset}")
                    if turns == 0: begun.wait()
                    turns += 1
            # Gone is gone: the mount is dead, or not there any more.
            except OSError as error: ends.append("an error" if error.errno in
                (errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED, errno.ENODEV, errno.EIO, errno.ENOENT) else repr(error))

        threads = [threading.Thread(target=read, args=(name,)) for name in names]
        for thread in threads: thread.start()
        begun.wait()
        open(R + "/reading", "w").close()
        for thread in threads: thread.join()
        print(ends)
        """

    private func startReaders(_ sandbox: Sandbox) throws -> Job {
        try sandbox.write(Self.readers, to: "readers.py")
        let job = try sandbox.start("exec python3 $R/readers.py")
        try sandbox.wait(for: "\(sandbox.path)/reading")
        return job
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGKILL])
    func `a signal while files are read: right bytes, then an error`(signal: Int32) throws {
        try withBackup { sandbox in
            let job = try startReaders(sandbox)
            let daemon = try #require(sandbox.daemons.first)
            #expect(kill(daemon, signal) == 0)
            #expect(try job.wait().trimmed == "['an error', 'an error', 'an error', 'an error']")
            #expect(sandbox.waitForProcesses())
            #expect(sandbox.mounts == (signal == SIGKILL ? [sandbox.mountpoint] : []))
            try sandbox.sh("backupfs check --store $S --read-data")
            try sandbox.mount()
            #expect(sandbox.mounts == [sandbox.mountpoint])
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; diff -r media $P")
        }
    }

    @Test func `a new mount takes a dead one's place, though files of that are open`() throws {
        try withBackup { sandbox in
            let holder = try sandbox.start(
                """
                exec 3< $M/live/archive.zip; head -c 10 <&3 >/dev/null; touch $R/open
                wait_until [ -e $R/done ]; tail -c 100 <&3
                """)
            try sandbox.wait(for: "\(sandbox.path)/open")
            for daemon in sandbox.daemons { kill(daemon, SIGKILL) }
            // The mount is not dead until the kernel has closed its connection.
            try sandbox.sh("wait_until '! stat -f $M'")
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
            try sandbox.sh("touch $R/done")
            let result = try holder.wait()
            #expect(result.exitCode != 0 && result.output.isEmpty, "\(result.errors)")
        }
    }

    @Test func `an ordinary unmount is refused while files are open or mapped, and breaks nothing`() throws {
        try withBackup { sandbox in
            let holder = """
                import mmap, os
                M, R = os.environ["M"], os.environ["R"]
                file = open(M + "/snapshots/one/media/big.raw", "rb", buffering=0)
                begin = file.read(1000)
                with open(M + "/snapshots/one/archive.zip", "rb") as archive: view = mmap.mmap(archive.fileno(), 0, prot=mmap.PROT_READ)
                def unmount(): return os.system("fusermount3 -u $M 2>/dev/null || backupfs umount $M 2>/dev/null") >> 8
                print(unmount())
                assert begin + file.read() == open(os.environ["P"] + "/big.raw", "rb").read()
                file.close()
                # The mapping alone holds it now.
                print(unmount())
                assert view[:] == open(M + "/snapshots/one/archive.zip", "rb").read()
                view.close()
                """
            try sandbox.write(holder, to: "holder.py")
            #expect(try sandbox.sh("python3 $R/holder.py") == "11\n11")
            try sandbox.sh("mkdir $M/snapshots/two; cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test func `after a lazy unmount open files can be read to their end, and the process ends with the last`() throws {
        try withBackup { sandbox in
            let holder = try sandbox.start(
                """
                exec 3< $M/snapshots/one/media/big.raw 4< $M/live/archive.tar 5< $M/snapshots/one/archive.zip
                for number in 3 4 5; do head -c 1000 <&$number > $R/got-$number; done; touch $R/open
                wait_until [ -e $R/done ]
                for number in 3 4 5; do cat <&$number >> $R/got-$number; done
                """)
            try sandbox.sh("cp $M/snapshots/one/archive.zip $R/archive.zip; cat $M/live/archive.tar > $R/archive.tar")
            try sandbox.wait(for: "\(sandbox.path)/open")
            try sandbox.sh("umount -l $M || fusermount3 -u -z $M")
            #expect(sandbox.mounts == [])
            #expect(try sandbox.sh("ls -A $M") == "")
            #expect(sandbox.daemons.count == 1)
            // It still holds the store.
            try sandbox.fails("backupfs mount --store $S $M", saying: "the process that serves it has not ended", exitCode: 11)
            try sandbox.sh("touch $R/done")
            let result = try holder.wait()
            #expect(result.exitCode == 0, "\(result.text)")
            try sandbox.sh("cmp $R/got-3 $P/big.raw; cmp $R/got-4 $R/archive.tar; cmp $R/got-5 $R/archive.zip")
            #expect(sandbox.waitForProcesses())
            try sandbox.mount()
        }
    }

    /// Sends SIGTERM and waits until the process has taken it.
    private func terminate(_ daemon: pid_t, _ sandbox: Sandbox) throws {
        kill(daemon, SIGTERM)
        try sandbox.sh("wait_taken \(daemon)")
    }

    @Test(arguments: ["backup.pack-written", "backup.record-written", "backup.published"], ["SIGTERM", "a lazy unmount"])
    func `a backup that runs when the mount ends is whole afterwards, or not there`(point: String, end: String) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh("backupfs backup --store $S --label first; head -c 5000000 /dev/urandom > $P/big.raw; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=pause:\(sandbox.path)/pause"])
            let daemon = try #require(sandbox.daemons.first)
            let backup = try sandbox.start("mkdir $M/snapshots/second")
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            if end == "SIGTERM" { try terminate(daemon, sandbox) } else { try sandbox.sh("umount -l $M || fusermount3 -u -z $M") }
            try sandbox.sh("rm $R/pause")
            let result = try backup.wait()
            #expect(sandbox.waitForProcesses())
            #expect(sandbox.mounts == [])
            try sandbox.mount()
            let names = try sandbox.names("snapshots")
            #expect(
                names == ["first", "latest", "second"] || result.exitCode != 0 && names == ["first", "latest"],
                "\(names) \(result.text)")
            try sandbox.sh("for s in $M/snapshots/*/; do cd $s; sha256sum --quiet --strict -c SHA256SUMS; done")
            if names.contains("second") { try sandbox.sh("cmp $P/big.raw $M/snapshots/second/media/big.raw") }
            try sandbox.sh("mkdir $M/snapshots/third; cd $M/snapshots/third; sha256sum --quiet -c SHA256SUMS; diff -r media $P")
            try sandbox.unmount()
            try CrashTests.expectNoLeftovers(sandbox)
        }
    }

    /// It may take minutes, and nothing comes of it.
    @Test(arguments: [
        ("live.rendering", "cat $M/live/export.json"), ("live.rendering", "ls -l $M/live"),
        ("records.rendered", "cat $M/live/export.json"), ("export.rendering", "ls -l $M/snapshots/one"),
        ("export.rendering", "cat $M/snapshots/one/archive.zip"),
    ])
    func `S67: a rendering for a reader is cancelled when the mount ends`(point: String, command: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --sample; backupfs config set export live --store $S
                backupfs backup --store $S --label one; touch $R/pause
                """)
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=pause:\(sandbox.path)/pause"])
            let readers = try (0..<3).map { _ in try sandbox.start(command) }
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            try terminate(try #require(sandbox.daemons.first), sandbox)
            for reader in readers { #expect(try reader.wait().exitCode != 0) }
            #expect(sandbox.waitForProcesses())
            #expect(sandbox.mounts == [])
            try sandbox.sh("rm $R/pause; backupfs check --store $S --read-data")
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet --strict -c SHA256SUMS; cat $M/live/export.json")
            try sandbox.unmount()
            try CrashTests.expectNoLeftovers(sandbox)
        }
    }

    @Test(arguments: ["restore.before-commit", "restore.committed"])
    func `CON-03: a restore that runs when the mount ends is done, or nothing has happened`(point: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=pause:\(sandbox.path)/pause"])
            try sandbox.write(SampleDocument.variant("new", expenses: 3), to: "new.json")
            let old = try sandbox.databaseDump()
            let restore = try sandbox.start("cp $R/new.json $M/restore/")
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            try terminate(try #require(sandbox.daemons.first), sandbox)
            try sandbox.sh("rm $R/pause")
            let result = try restore.wait()
            #expect(sandbox.waitForProcesses())
            try sandbox.mount()
            let isNew = try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "3"
            if !isNew {
                #expect(result.exitCode != 0)
                #expect(try sandbox.databaseDump() == old)
            }
            #expect(try sandbox.report(".success") == "\(isNew)")
            try CrashTests.expectNoLeftovers(sandbox)
            try sandbox.unmount()
        }
    }

    // MARK: rsync --delete

    @Test func `a dead mount is an error and no empty folder, and rsync --delete removes nothing`() throws {
        try withBackup { sandbox in
            // No second process watches over the first, so nothing unmounts automatically.
            #expect(sandbox.processes.count == 1, "\(sandbox.processes)")
            try sandbox.sh(
                "rsync -a --delete $M/snapshots/ $R/copy/; rsync -a --delete $M/ $R/whole/ --exclude /live --exclude /restore")
            let copied = try sandbox.sh("cd $R; find copy whole | sort")
            try sandbox.crash()
            #expect(sandbox.mounts == [sandbox.mountpoint])
            // The kernel returns ECONNABORTED to the first request, and ENOTCONN to all others.
            _ = try sandbox.run("ls $M")
            for folder in ["$M", "$M/snapshots", "$M/snapshots/one", "$M/snapshots/one/media"] {
                try sandbox.fails("ls \(folder)", saying: "Transport endpoint is not connected")
                try sandbox.fails(
                    "find \(folder) -mindepth 1 -name '*.json' -delete", saying: "Transport endpoint is not connected")
                try sandbox.fails("rsync -a --delete \(folder)/ $R/copy/", saying: "Transport endpoint is not connected")
            }
            try sandbox.fails("rsync -a --delete $M/ $R/whole/ --exclude /live --exclude /restore", saying: "Transport endpoint")
            #expect(try sandbox.sh("cd $R; find copy whole | sort") == copied)
        }
    }

    @Test func `the guide's two ways of copying remove nothing where nothing is mounted`() throws {
        try withBackup { sandbox in
            try sandbox.sh("mkdir $R/usb; mountpoint -q $M && rsync -a --delete $M/snapshots/ $R/usb/snapshots/")
            try sandbox.sh("rsync -a --delete $M/snapshots/latest/ $R/usb/latest/")
            let copied = try sandbox.sh("cd $R/usb; find . | sort")
            #expect(try sandbox.sh("diff -r $M/snapshots/one $R/usb/snapshots/one; diff -r $M/snapshots/one $R/usb/latest") == "")
            try sandbox.unmount()
            #expect(try sandbox.run("mountpoint -q $M && rsync -a --delete $M/ $R/usb/").exitCode != 0)
            for folder in ["snapshots", "snapshots/latest", "snapshots/one"] {
                try sandbox.fails("rsync -a --delete $M/\(folder)/ $R/usb/snapshots/", saying: "No such file or directory")
            }
            #expect(try sandbox.sh("cd $R/usb; find . | sort") == copied)
        }
    }

    @Test func `other backup programs leave the mount out when they are to stay on one file system`() throws {
        try withBackup { sandbox in
            let found = try sandbox.sh(
                """
                cd $R; tar --one-file-system --exclude './[^m]*' -cf x.tar . 2>/dev/null; tar -tf x.tar
                rsync -ax --include /mnt --exclude '/*' ./ elsewhere/
                ls -A elsewhere/mnt; find . -xdev -path '*/mnt/*'; findmnt -no FSTYPE $M
                """)
            #expect(found == "./\n./mnt/\nfuse.backupfs")
        }
    }
}
