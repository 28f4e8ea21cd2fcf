import BackupCore
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

/// A store, its app and its mount in a sandbox, which stays there if the soak fails. `$O` is another store with the same
/// repository.
final class SoakWorld: Sendable {
    let sandbox: Sandbox
    let ledger: SoakLedger
    let isEnding = Atomic(false)

    var path: String { sandbox.path }
    var storePath: String { sandbox.storePath }
    var mountpoint: String { sandbox.mountpoint }

    init() throws {
        let path = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-soak")
        sandbox = try Sandbox(
            at: path, folders: ["mnt", "home", "tmp"],
            variables: ["HOME": "\(path)/home", "TMPDIR": "\(path)/tmp", "LC_ALL": "C.UTF-8", "O": "\(path)/other"])
        ledger = try SoakLedger(logPath: "\(path)/soak.log")
        try sandbox.write(SoakApp.definition, to: "diary.yaml")
        try sandbox.write(SoakApp.program, to: "app.py")
        try sandbox.write(SoakApp.verifier, to: "verify.py")
        try sandbox.sh("backupfs init --store $S --app $R/diary.yaml")
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
