import BackupCore
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import FUSEBridge

@Suite(.serialized, .disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
struct MountEndTests {
    private func isMounted(_ path: String) throws -> Bool { try MountTable.current().entry(at: path) != nil }

    @Test func byFusermount() throws {
        let mount = try MountedTree()
        _ = try mount.output("fusermount3 -u $M")
        #expect(try mount.waitForEnd() == .unmounted)
        #expect(try !isMounted(mount.path))
    }

    @Test func byUmount() throws {
        let mount = try MountedTree()
        try Unmounter.unmount(mount.path + "/")
        #expect(try mount.waitForEnd() == .unmounted)
        #expect(try !isMounted(mount.path))
    }

    @Test func byUmountWhileAFileIsOpen() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        let file = open("\(mount.path)/f", O_RDONLY | O_CLOEXEC)
        #expect(file >= 0)
        #expect {
            try Unmounter.unmount(mount.path)
        } throws: { error in
            (error as? BackupError)?.code == .busy
        }
        #expect(try mount.output("cat $M/f | wc -c") == "1\n")
        try Unmounter.unmount(mount.path, lazily: true)
        #expect(try !isMounted(mount.path))
        var byte: UInt8 = 0
        #expect(read(file, &byte, 1) == 1)
        close(file)
        #expect(try mount.waitForEnd() == .unmounted)
    }

    @Test func byRequestWhileAFileIsOpen() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        let file = open("\(mount.path)/f", O_RDONLY | O_CLOEXEC)
        #expect(try mount.end() == .requested)
        #expect(try !isMounted(mount.path))
        var byte: UInt8 = 0
        #expect(read(file, &byte, 1) == -1)
        close(file)
    }

    @Test func manyTimesUnderLoad() throws {
        for round in 0..<20 {
            let tree = MemoryTree(usesDirectIO: true)
            tree.add("f", .file(MountedReadingTests.pattern(100_000)))
            let mount = try MountedTree(tree)
            let reader = try Subprocess(
                "/bin/sh", ["sh", "-c", "while cat \(mount.path)/f; do :; done"],
                descriptors: [Self.null, Self.null])
            usleep(3_000)
            if round.isMultiple(of: 2) {
                #expect(try mount.end() == .requested)
            } else {
                try Unmounter.unmount(mount.path, lazily: true)
                #expect(try mount.waitForEnd() == .unmounted)
            }
            #expect(reader.wait() == 0)
            #expect(try !isMounted(mount.path))
        }
    }

    private static let null = open("/dev/null", O_WRONLY | O_CLOEXEC)

    @Test func leavesAnotherMountInItsPlaceAlone() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        let file = open("\(mount.path)/f", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        try Unmounter.unmount(mount.path, lazily: true)
        let successor = try MountedTree(MemoryTree(), at: mount.path)
        #expect(try mount.end() == .requested)
        #expect(try successor.output("mkdir $M/new; ls $M") == "new\n")
        #expect(try successor.end() == .requested)
        #expect(try !isMounted(mount.path))
    }

    @Test func whenTheOneWhoWaitsFails() throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        defer { rmdir(folder) }
        let session = try MountSession(tree: MemoryTree(), mountpoint: folder)
        #expect {
            try session.run(endsOnSignals: false) { () throws(BackupError) in throw BackupError(.interrupted, "nobody waits") }
        } throws: { error in
            (error as? BackupError)?.message == "nobody waits"
        }
        #expect(try !isMounted(folder))
    }

    @Test func whenTheKernelRefuses() throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        let session = try MountSession(tree: MemoryTree(), mountpoint: folder)
        rmdir(folder)
        #expect {
            try session.run(endsOnSignals: false) {}
        } throws: { error in
            (error as? BackupError)?.description
                == "\(folder): could not mount: fuse: failed to access mountpoint \(folder): No such file or directory"
        }
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func bySignal(_ signal: Int32) async throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        let cleaner = try TestMachine.startCleaner(folder)
        defer { close(cleaner) }
        await #expect(processExitsWith: .exitCode(7)) { [folder = folder as String, signal = signal as Int32] in
            let session = try MountSession(tree: MemoryTree(), mountpoint: folder)
            let end = try session.run { kill(getpid(), signal) }
            exit(end == .signal(signal) ? 7 : 1)
        }
        #expect(try !isMounted(folder))
    }

    /// Such as `backupfs cancel` for a backup that is still to be finished.
    @Test(arguments: [SIGUSR1, SIGTERM]) func signalWhileItEnds(_ signal: Int32) async throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        let cleaner = try TestMachine.startCleaner(folder)
        defer { close(cleaner) }
        await #expect(processExitsWith: .exitCode(7)) { [folder = folder as String, signal = signal as Int32] in
            let session = try MountSession(tree: MemoryTree(), mountpoint: folder)
            let seen = Atomic<Int32>(0)
            let end = try session.run(
                reactions: [SIGUSR1: { seen.store(SIGUSR1, ordering: .relaxed) }],
                onEnding: { _ in
                    kill(getpid(), signal)
                    for _ in 0..<1000 where seen.load(ordering: .relaxed) == 0 { usleep(10_000) }
                },
                onSignalWhileEnding: { seen.store(SIGTERM, ordering: .relaxed) }
            ) { session.requestEnd() }
            exit(end == .requested && seen.load(ordering: .relaxed) == signal ? 7 : 1)
        }
        #expect(try !isMounted(folder))
    }

    @Test func deadMountIsClearedAway() async throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        // Takes it away at the end of the test, too.
        let cleaner = try TestMachine.startCleaner(folder)
        defer { close(cleaner) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
            let session = try MountSession(tree: MemoryTree(timeoutSeconds: 3600), mountpoint: folder)
            _ = try session.run { kill(getpid(), SIGKILL) }
        }
        #expect(try isMounted(folder))
        #expect(try TestMachine.sh("ls \(folder)").output.contains("Transport endpoint is not connected"))
        // A dead mount of another program is left alone.
        #expect {
            try Mountpoint.prepare(folder, options: MountOptions(parsing: ["subtype=other"]))
        } throws: { error in
            (error as? BackupError)?.code == .busy
        }
        #expect(try Mountpoint.prepare(folder) == folder)
        #expect(try !isMounted(folder))
    }

    /// A process does not end while one of its threads waits in the kernel for a folder that a program has locked. The program
    /// waits for an answer of the process.
    @Test func killedWhileAProgramLocksAFolder() async throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        let cleaner = try TestMachine.startCleaner(folder)
        defer { close(cleaner) }
        let hasEnded = Monitor(false)
        let rescuer = try SystemThread {
            guard !hasEnded.wait(until: { $0 }, forNanoseconds: 60_000_000_000) else { return }
            Issue.record("the killed process does not end")
            // Aborts the connection.
            umount2(folder, Int32(MNT_FORCE))
        }
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
            let tree = MemoryTree(timeoutSeconds: 3600)
            tree.stalls.withLock { $0.doStall = true }
            let session = try MountSession(tree: tree, mountpoint: folder)
            _ = try session.run { () throws(BackupError) in
                let looker = try SystemThread { _ = try? TestMachine.sh("stat \(folder)/stalls") }
                looker.detach()
                _ = tree.stalls.wait(until: { $0.count > 0 }, forNanoseconds: 30_000_000_000)
                let observer = tree.state.withLock { $0.observer }
                observer?.attributesChanged(.root)
                observer?.waitUntilNotified()
                kill(getpid(), SIGKILL)
            }
        }
        hasEnded.changeWakingAll { $0 = true }
        rescuer.join()
        #expect(try TestMachine.sh("ls \(folder)").output.contains("Transport endpoint is not connected"))
        try Unmounter.unmount(folder)
    }

    @Test func deadMountIsUnmounted() async throws {
        try Machine.requireFUSE()
        let folder = try TestMachine.makeTemporaryFolder()
        // Takes it away at the end of the test, too.
        let cleaner = try TestMachine.startCleaner(folder)
        defer { close(cleaner) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
            let session = try MountSession(tree: MemoryTree(), mountpoint: folder)
            _ = try session.run { kill(getpid(), SIGKILL) }
        }
        try Unmounter.unmount(folder)
        #expect(try !isMounted(folder))
    }
}
