import BackupCore
import Glibc
import Synchronization
import SystemIO
import TestSupport

/// A store, its app and its mount in a folder of their own, which stays there if the soak fails.
///
/// Scripts see `$R` (the folder), `$S` (the store), `$M` (its mountpoint) and `$O` (another store with the same repository), and
/// `backupfs` is the program under test.
final class SoakWorld: Sendable {
    let path: String
    let ledger: SoakLedger
    let isEnding = Atomic(false)
    private let jobCount = Atomic(0)
    private let variables: [String: String]

    var storePath: String { "\(path)/store" }
    var mountpoint: String { "\(path)/mnt" }
    var logPath: String { "\(path)/soak.log" }

    init() throws {
        path = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-soak")
        for folder in ["mnt", "home", "bin", "tmp"] { try FileSystem.makeDirectories("\(path)/\(folder)") }
        guard symlink(try Machine.binaryPath(), "\(path)/bin/backupfs") == 0 else { throw Machine.Unusable("no link in \(path)") }
        variables = [
            "PATH": "\(path)/bin:" + (Machine.environment("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin",
            "HOME": "\(path)/home",
            "TMPDIR": "\(path)/tmp", "TZ": "UTC", "LC_ALL": "C.UTF-8", "R": path, "S": "\(path)/store", "M": "\(path)/mnt",
            "O": "\(path)/other",
        ]
        ledger = try SoakLedger(logPath: "\(path)/soak.log")
        try writeFile("\(path)/diary.yaml", Array(SoakApp.definition.utf8))
        try writeFile("\(path)/app.py", Array(SoakApp.program.utf8))
        try writeFile("\(path)/verify.py", Array(SoakApp.verifier.utf8))
        try sh("backupfs init --store $S --app $R/diary.yaml")
    }

    func remove() throws { try FileSystem.removeTree(path) }

    // MARK: Programs

    func start(_ command: [String], _ extra: [String: String] = [:]) throws -> Job {
        let number = jobCount.add(1, ordering: .relaxed).newValue
        return try Job(command, environment: variables.merging(extra) { $1 }, scratch: "\(path)/tmp/job-\(number)")
    }

    /// A bash script that need not succeed.
    func run(_ script: String, _ extra: [String: String] = [:]) throws -> Job.Result {
        try finish(start(["bash", "-c", "set -e -o pipefail; \(script)"], extra))
    }

    /// A bash script that must succeed.
    @discardableResult
    func sh(_ script: String) throws -> String {
        let result = try run(script)
        guard result.exitCode == 0 else { throw Machine.Unusable("\(script): exit code \(result.exitCode): \(result.text)") }
        return result.trimmed
    }

    /// Waits, and removes what the program's output was kept in: there are thousands.
    func finish(_ job: Job, limitSeconds: Int = 600) throws -> Job.Result {
        defer { job.removeOutput() }
        return try job.wait(limitSeconds: limitSeconds)
    }

    // MARK: What there is

    /// The names of all backups, as the mount shows them; none while it is not there.
    var snapshots: [String] {
        ((try? DirectoryHandle(path: "\(mountpoint)/snapshots").names()) ?? []).map(\.description).filter { $0 != "latest" }
    }

    /// Those of the store that is mounted, and that may go or get another name: not those of the other store, nor the first one,
    /// which is pinned.
    var ownSnapshots: [String] { snapshots.filter { !$0.hasPrefix(Self.otherPrefix) && $0 != "first" } }

    /// What the names of the other store's backups begin with.
    static let otherPrefix = "o-"

    func isPending(_ name: String) -> Bool {
        FileSystem.extendedAttribute("user.backupfs.state", of: "\(mountpoint)/snapshots/\(name)") == Array("pending".utf8)
    }

    func hasSnapshot(_ name: String) -> Bool { access("\(storePath)/repository", F_OK) == 0 && snapshots.contains(name) }

    /// Waits, or until the soak ends.
    /// - Returns: whether it goes on.
    func pause(seconds: Double) -> Bool {
        let end = SoakLedger.now() + seconds
        while !isEnding.load(ordering: .relaxed), SoakLedger.now() < end { usleep(20_000) }
        return !isEnding.load(ordering: .relaxed)
    }
}
