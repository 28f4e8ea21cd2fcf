import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

/// A store with its app's data in a folder of its own, and the program under test.
final class World {
    private let top: TemporaryFolder
    private let sandbox: Sandbox
    /// What the fault layer watches: the store, and the app's data where that lies elsewhere.
    let path: String
    let inputsPath: String

    var storePath: String { "\(path)/store" }
    /// Lies where the layer does not look.
    var logPath: String { "\(top.path)/calls" }

    convenience init() throws {
        try self.init(inputsPath: nil)
        for folder in [path, inputsPath] { try FileSystem.makeDirectories(folder) }
    }

    /// A copy of another one's store and app. The inputs are the other's.
    convenience init(copying other: World) throws {
        try self.init(inputsPath: other.inputsPath)
        try run(["cp", "-a", other.path, path]).requireSuccess()
        // An app's data, or a repository, that does not lie in its store is named by its whole path.
        for folder in try DirectoryHandle(path: path).names() {
            let file = "\(path)/\(folder)/store.yaml"
            guard try FileSystem.exists(file) else { continue }
            let settings = String(decoding: try readFile(file), as: UTF8.self)
            if settings.contains(other.path) { try writeFile(file, Array(settings.replacing(other.path, with: path).utf8)) }
        }
    }

    private init(inputsPath: String?) throws {
        top = try TemporaryFolder(inMemory: true)
        // The layer compares with paths that have no links in them.
        guard let real = realpath(top.path, nil) else { throw Machine.Unusable("no real path of \(top.path)") }
        defer { free(real) }
        path = String(cString: real) + "/world"
        self.inputsPath = inputsPath ?? top("inputs")
        sandbox = try Sandbox(
            at: top.path,
            variables: [
                "S": "\(path)/store", "W": path, "I": self.inputsPath, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
                // Automatic backups would come in between.
                "BACKUPFS_SCHEDULE": "off",
            ], shellOptions: "-eu -o pipefail")
    }

    // MARK: Programs

    func start(_ command: [String], _ extra: [String: String] = [:]) throws -> Job { try sandbox.start(command, extra) }

    @discardableResult
    func run(_ command: [String], _ extra: [String: String] = [:]) throws -> Job.Result { try sandbox.run(command, extra) }

    /// The program under test, with this store.
    func backupfs(_ arguments: [String], _ extra: [String: String] = [:]) throws -> Job.Result {
        try run([Machine.binaryPath()] + arguments + ["--store", storePath], extra)
    }

    /// A bash script that must succeed: `$S` is the store, `$W` the folder around it, `$I` that of the inputs.
    @discardableResult
    func shell(_ script: String) throws -> String { try sandbox.sh(script) }

    /// A folder of this world where the layer does not look.
    func folder(_ name: String) throws -> String { try top.makeFolder(name) }

    // MARK: What is there

    func exists(_ name: String) -> Bool { access("\(storePath)/\(name)", F_OK) == 0 }

    /// Names in a folder of the store; none when it is not there.
    func names(_ folder: String) -> [String] {
        ((try? DirectoryHandle(path: "\(storePath)/\(folder)").names()) ?? []).map(\.description)
    }

    /// What no operation may leave lying once the store has been opened again.
    func leftovers() -> [String] {
        let known: [String: Set<String>] = [
            ".": [
                "CACHEDIR.TAG", "app", "app.yaml", "apps", "last-error.json", "operation.lock", "repository", "restore", "spool",
                "store.yaml", "identity", "last-backup", "last-restore.json", "catalog", "mount.lock", "mount.log",
                "backupfs.log", "history.jsonl", "reports",
            ],
            "spool": ["CACHEDIR.TAG"], "restore": ["last.json", "last.txt"],
            "app": ["database.sqlite", "database.sqlite-shm", "database.sqlite-wal", "photos"],
        ]
        let drafts = names("reports").filter { $0.contains(".tmp-") }.map { "reports/\($0)" }
        return
            (drafts
            + known.flatMap { folder, expected in
                names(folder).filter { !expected.contains($0) }.map { "\(folder)/\($0)" }
            }).sorted()
    }

    /// Drafts and notes in the repository: those of a killed process go with the next operation. Only drafts of notes stay for
    /// ten minutes, since another host may be writing them.
    func repositoryLeftovers() -> [String] {
        names("repository/tmp") + names("repository/locks").filter { !$0.hasSuffix(".new") }
    }

    /// What the program says of its last restore.
    var report: ReportExcerpt? { ReportExcerpt(Job.read("\(storePath)/restore/last.json")) }
}

extension Job.Result {
    /// - Returns: what it printed, without the newlines at the end.
    @discardableResult
    func requireSuccess() throws -> String {
        guard exitCode == 0 else { throw Machine.Unusable("exit code \(exitCode): \(text)") }
        return trimmed
    }
}
