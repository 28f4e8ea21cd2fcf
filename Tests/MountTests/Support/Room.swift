import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

/// A test's own folder, home and environment, and a shell in it. Mounts and processes that the test leaves behind are removed and
/// reported.
///
/// Scripts see `$R` (the folder), `$S` (the store) and `$M` (the mountpoint), and `backupfs` is the program under test.
final class Room {
    let path: String
    var variables: [String: String]
    private var jobCount = 0

    var storePath: String { "\(path)/store" }
    var mountpoint: String { "\(path)/mnt" }

    private init(_ base: String) throws {
        let path = try TemporaryFolder.make("\(base)/room")
        self.path = path
        for folder in ["mnt", "home", "bin", "tmp"] { try #require(mkdir("\(path)/\(folder)", 0o755) == 0) }
        try #require(symlink(try Machine.binaryPath(), "\(path)/bin/backupfs") == 0)
        variables = [
            "PATH": "\(path)/bin:" + (Machine.environment("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin",
            "HOME": "\(path)/home",
            "XDG_DATA_HOME": "\(path)/data", "TMPDIR": "\(path)/tmp", "TZ": "UTC", "LC_ALL": "C.UTF-8", "R": path,
            "S": "\(path)/store", "M": "\(path)/mnt", "BACKUPFS_TEST_ROOM": path,
            // Nothing happens without the test's request.
            "BACKUPFS_SCHEDULE": "off", "BACKUPFS_MKDIR_WAITS": "always",
        ]
    }

    /// Runs a test in its own room and cleans up after it, however it ends.
    static func use(_ body: (Room) throws -> Void) throws {
        try Machine.requireFUSE()
        let room = try Room(Cleaner.shared.get().base)
        defer { room.leave() }
        try body(room)
        // A test unmounts by itself, so that the mount ends normally; a mount that is left now is an error.
        #expect(room.unmountAll() == [], "left mounted")
        #expect(room.waitForProcesses(), "left running: \(room.processes.map(\.command))")
    }

    private func leave() {
        _ = unmountAll()
        for process in processes { kill(process.number, SIGKILL) }
        if let result = try? run("chmod -R u+rwX \"$R\" 2>/dev/null; rm -rf --one-file-system \"$R\""), result.exitCode != 0 {
            Issue.record("could not remove \(path): \(result.text)")
        }
    }

    // MARK: Programs

    /// Starts a bash script without waiting for it.
    func start(_ script: String, _ extra: [String: String] = [:]) throws -> Job {
        jobCount += 1
        let environment = variables.merging(extra) { $1 }
        return try Job(["bash", "-c", script], environment: environment, scratch: "\(path)/tmp/.job-\(jobCount)")
    }

    /// Runs a bash script to completion.
    func run(_ script: String, _ extra: [String: String] = [:], limitSeconds: Int = 120) throws -> Job.Result {
        try start(script, extra).wait(limitSeconds: limitSeconds)
    }

    /// Runs a script that must succeed, and returns its output without trailing newlines.
    @discardableResult
    func sh(
        _ script: String, _ extra: [String: String] = [:], limitSeconds: Int = 120, at place: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run("set -e -o pipefail; \(script)", extra, limitSeconds: limitSeconds)
        try #require(result.exitCode == 0, "\(script)\n→ \(result.exitCode): \(result.text)", sourceLocation: place)
        return result.trimmed
    }

    /// Runs a script that must fail with a message.
    @discardableResult
    func fails(
        _ script: String, saying expected: String, exitCode: Int32? = nil, _ extra: [String: String] = [:],
        at place: SourceLocation = #_sourceLocation
    ) throws -> Job.Result {
        let result = try run(script, extra)
        #expect(result.exitCode != 0, "should have failed: \(script)\n\(result.text)", sourceLocation: place)
        #expect(result.text.contains(expected), "\(script)\nshould say: \(expected)\nsaid: \(result.text)", sourceLocation: place)
        if let exitCode { #expect(result.exitCode == exitCode, "\(script)\n\(result.text)", sourceLocation: place) }
        return result
    }

    /// Writes a file into the room.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = name.hasPrefix("/") ? name : "\(path)/\(name)"
        try writeFile(path, bytes)
        return path
    }

    // MARK: What is mounted and what runs

    /// Mounts of this room, deepest first.
    var mounts: [String] {
        Job.read("/proc/self/mounts").split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            return parts.count > 1 && parts[1].hasPrefix("\(path)/") ? String(parts[1]) : nil
        }.reversed()
    }

    /// Unmounts every mount of this room.
    /// - Returns: the mounts that existed.
    private func unmountAll() -> [String] {
        let found = mounts
        for _ in 0..<20 {
            guard let mount = mounts.first else { break }
            if umount2(mount, 0) != 0 { _ = try? run("fusermount3 -u '\(mount)' || umount -l '\(mount)'") }
        }
        return found
    }

    /// Running processes that this room started.
    var processes: [(number: pid_t, command: String)] {
        let mark = "BACKUPFS_TEST_ROOM=\(path)\0"
        return ((try? SystemIO.DirectoryHandle(path: "/proc").names()) ?? []).compactMap { name in
            guard let number = pid_t(name.description), number != getpid() else { return nil }
            let environment = Job.read("/proc/\(number)/environ")
            let command = Job.read("/proc/\(number)/cmdline").split(separator: "\0").joined(separator: " ")
            // An ordinary user cannot read the environment of a process that has a key; its arguments name the room as well.
            guard (environment + "\0").contains(mark) || environment.isEmpty && command.contains("\(path)/") else { return nil }
            return (number, command)
        }
    }

    /// Processes that serve a mount.
    var daemons: [pid_t] {
        processes.map(\.number).filter { Machine.linkTarget("/proc/\($0)/exe")?.hasSuffix("/backupfs") == true }
    }

    /// - Returns: whether none is left after a while.
    func waitForProcesses() -> Bool {
        for turn in 0..<3_000 {
            if processes.isEmpty { return true }
            // A mount namespace that another process has created meanwhile has copies of our mounts, and keeps them alive.
            if turn % 200 == 199, !mounts.contains(mountpoint), isMountedElsewhere { daemons.forEach { kill($0, SIGTERM) } }
            usleep(10_000)
        }
        return false
    }

    /// Whether a mount of this room still exists in the mount namespace of another process.
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

    /// Rooms are created in here.
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
