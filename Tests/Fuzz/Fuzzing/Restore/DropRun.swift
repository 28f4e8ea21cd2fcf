import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// A folder with a dropped file, the app's data and a work folder, created for each input.
final class DropRun {
    let operation: RestoreOperation
    let database: AppDatabase
    let dropPath: String
    /// None is made, and none is needed.
    let safetySnapshot: SnapshotID
    private let ground: FuzzGround
    private let definition: AppDefinition
    private let path: String

    init(_ ground: FuzzGround, _ definition: AppDefinition) throws {
        self.ground = ground
        self.definition = definition
        path = "\(ground.folder)/run"
        if try FileSystem.exists(path) { try FileSystem.removeTree(path) }
        try FileSystem.makeDirectories("\(path)/work")
        dropPath = "\(path)/drop"
        database = AppDatabase(at: "\(path)/app/database.sqlite", definition: definition)
        operation = RestoreOperation(
            database: database, mediaPath: definition.media == nil ? nil : "\(path)/app/media",
            journalPath: "\(path)/restore.journal", workPath: "\(path)/work", savedMedia: .everything)
        safetySnapshot = SnapshotID(SHA256Hasher.hash([]))
    }

    func write(_ bytes: [UInt8]) throws {
        try OwnedDescriptor.open(dropPath, O_WRONLY | O_CREAT | O_EXCL).writeAll(bytes)
    }

    /// The app with an empty database, and with a media folder, needed or not.
    func makeApp() throws {
        // The first check has left it; the next one creates it again.
        if try FileSystem.exists("\(path)/work/records") { try FileSystem.removeFile("\(path)/work/records") }
        try FileSystem.makeDirectories("\(path)/app/media")
        try OwnedDescriptor.open(database.path, O_WRONLY | O_CREAT | O_EXCL).writeAll(ground.database(of: definition))
    }

    /// - Parameter inWork: what may be in the work folder; `nil` for anything.
    func requireOnly(_ names: Set<String>, inWork: Set<String>?) throws {
        try Self.require(ground.folder, ["run"])
        try Self.require(path, names)
        if let inWork { try Self.require("\(path)/work", inWork) }
    }

    func requireApp(_ names: Set<String>) throws {
        try Self.require("\(path)/app", names.union(["database.sqlite-wal", "database.sqlite-shm"]))
    }

    private static func require(_ folder: String, _ names: Set<String>) throws {
        let found = Set(try DirectoryHandle(path: folder).names().map(\.description)).subtracting([".", ".."])
        try FuzzViolation.require(found.isSubset(of: names), "\(folder) has \(found.sorted())")
    }
}
