import Glibc
import SystemIO
import TestSupport
import Testing

/// Sandboxes with mounts. What a test leaves mounted or running is removed and reported.
extension Sandbox {
    private static let mark = "BACKUPFS_TEST_SANDBOX"

    /// Runs a test in its own sandbox and cleans up after it, however it ends.
    static func use(_ body: (Sandbox) throws -> Void) throws {
        try Machine.requireFUSE()
        let path = try TemporaryFolder.make("\(Cleaner.shared.get().base)/sandbox")
        let sandbox = try Sandbox(
            at: path, folders: ["mnt", "home", "tmp"],
            variables: [
                "HOME": "\(path)/home", "XDG_DATA_HOME": "\(path)/data", "TMPDIR": "\(path)/tmp", "LC_ALL": "C.UTF-8", mark: path,
                // Nothing happens without the test's request.
                "BACKUPFS_SCHEDULE": "off", "BACKUPFS_MKDIR_WAITS": "always",
            ])
        defer { sandbox.leave() }
        try body(sandbox)
        // A test unmounts by itself, so that the mount ends normally; a mount that is left now is an error.
        #expect(sandbox.unmountAll() == [], "left mounted")
        #expect(sandbox.waitForProcesses(), "left running: \(sandbox.processes.map(\.command))")
    }

    private func leave() {
        _ = unmountAll()
        for process in processes { kill(process.number, SIGKILL) }
        if let result = try? remove(), result.exitCode != 0 { Issue.record("could not remove \(path): \(result.text)") }
    }

    // MARK: What is mounted and what runs

    /// Mounts of this sandbox, deepest first.
    var mounts: [String] {
        Job.read("/proc/\(host.map { "\($0.process)" } ?? "self")/mounts").split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            return parts.count > 1 && parts[1].hasPrefix("\(path)/") ? String(parts[1]) : nil
        }.reversed()
    }

    /// Unmounts every mount of this sandbox.
    /// - Returns: the mounts that existed.
    private func unmountAll() -> [String] {
        let found = mounts
        for _ in 0..<20 {
            guard let mount = mounts.first else { break }
            if umount2(mount, 0) != 0 { _ = try? run("fusermount3 -u '\(mount)' || umount -l '\(mount)'") }
        }
        return found
    }

    /// Running processes that this sandbox started.
    var processes: [(number: pid_t, command: String)] {
        let mark = "\(Self.mark)=\(path)"
        let commandMark = "\(path)/"
        return ProcessTable.numbers().compactMap { number in
            // An ordinary user cannot read the environment of a process that has a key; its arguments name the sandbox as well.
            switch ProcessTable.has(mark, in: "environ", of: number) {
            case true?: break
            case false?: return nil
            case nil: guard ProcessTable.has(commandMark, in: "cmdline", of: number) == true else { return nil }
            }
            let command = (try? readFile("/proc/\(number)/cmdline")) ?? []
            return (number, command.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " "))
        }
    }

    /// Processes that serve a mount.
    var daemons: [pid_t] {
        processes.map(\.number).filter { Machine.linkTarget("/proc/\($0)/exe")?.hasSuffix("/backupfs") == true }
    }

    /// Whether a process has not ended. It costs a hundredth of a search through all of them.
    static func isRunning(_ process: pid_t) -> Bool { Machine.linkTarget("/proc/\(process)/exe") != nil }

    /// - Returns: whether none is left after a while.
    func waitForProcesses() -> Bool {
        var known = processes
        for turn in 0..<1_000 {
            // All processes are searched when those that were found have ended, and now and then.
            if turn % 10 == 9 || !known.contains(where: { Self.isRunning($0.number) }) { known = processes }
            if known.isEmpty { return true }
            // A mount namespace that another process has created meanwhile has copies of our mounts, and keeps them alive.
            if turn % 50 == 49, !mounts.contains(mountpoint), isMountedElsewhere { daemons.forEach { kill($0, SIGTERM) } }
            usleep(UInt32(min(10_000 + turn * 1_000, 50_000)))
        }
        return false
    }

    /// Whether a mount of this sandbox still exists in the mount namespace of another process.
    private var isMountedElsewhere: Bool {
        let own = Machine.linkTarget("/proc/self/ns/mnt")
        return ((try? SystemIO.DirectoryHandle(path: "/proc").names()) ?? []).contains { name in
            guard pid_t(name.description) != nil, Machine.linkTarget("/proc/\(name)/ns/mnt") != own else { return false }
            return Job.read("/proc/\(name)/mountinfo").contains(" \(path)/")
        }
    }
}

/// If the test process dies, a shell that then sees the end of its input removes what it left behind.
final class Cleaner: Sendable {
    static let shared = Result { try Cleaner() }

    /// Sandboxes are created in here.
    let base: String
    /// Open as long as this process lives.
    private let lifeline: Int32

    private init() throws {
        base = try TemporaryFolder.make("/tmp/backupfs-mounttests")
        try #require(chmod(base, 0o755) == 0)
        let pipe = try SystemIO.Pipe()
        let script = """
            cat >/dev/null
            for attempt in 1 2 3 4 5 6 7 8; do
                sed -n 's|^[^ ]* \\(\(base)/[^ ]*\\) .*|\\1|p' /proc/self/mounts | while read -r mount; do
                    umount -l "$mount" || fusermount3 -u -z "$mount"
                done
            done
            rm -rf --one-file-system '\(base)'
            """
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        _ = try Subprocess(
            "/bin/sh", ["sh", "-c", script], input: pipe.reader.rawValue, descriptors: [null, null], leads: .session)
        lifeline = fcntl(pipe.writer.rawValue, F_DUPFD_CLOEXEC, 3)
    }
}
