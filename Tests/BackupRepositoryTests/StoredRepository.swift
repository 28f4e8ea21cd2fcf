import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// One machine that uses a repository in a simulated storage, with a cache of its own.
struct StoredRepository {
    let storage: SimulatedStorage
    let repository: Repository
    let remote: RemoteRepository

    private static func remote(_ storage: SimulatedStorage, _ cache: String) throws -> RemoteRepository {
        try RemoteRepository(in: storage, cacheFolder: cache, writingTo: storage)
    }

    /// Creates the repository.
    /// - Parameter cache: a folder for the cache.
    static func create(on server: SimulatedServer, _ cache: String, isEncrypted: Bool = false) throws -> StoredRepository {
        let storage = SimulatedStorage(server)
        let remote = try remote(storage, cache)
        let repository = try remote.create(
            password: isEncrypted ? EncryptionTests.secret("horse") : nil, catalogHome: .folder(cache + "/catalogs"),
            cost: EncryptionTests.cheap)
        return StoredRepository(storage: storage, repository: repository, remote: remote)
    }

    /// Opens it, after asking the server what is there.
    static func open(on server: SimulatedServer, _ cache: String) throws -> StoredRepository {
        try open(SimulatedStorage(server), cache)
    }

    static func open(_ storage: SimulatedStorage, _ cache: String) throws -> StoredRepository {
        let remote = try remote(storage, cache)
        try remote.refresh()
        return StoredRepository(
            storage: storage,
            repository: try remote.open(
                secret: { (_) throws(BackupError) in .password(EncryptionTests.secret("horse")) },
                catalogHome: .folder(cache + "/catalogs")), remote: remote)
    }

    /// Asks the server what is new.
    func refresh() throws {
        try remote.refresh()
        _ = try repository.refresh()
    }

    func backUp(_ name: FileName, seconds: Int64 = 1000) throws {
        try RecordedHistory.backUp(name, in: repository, seconds: seconds)
    }

    func id(of name: FileName) throws -> SnapshotID { try #require(repository.snapshot(named: name)).id }

    var names: Set<FileName> { Set(repository.snapshots().map(\.name)) }

    /// What the repository's checks and its readers find; `nil` if all is well.
    /// - Parameter contents: the snapshots, and the names of what they hold.
    func flaw(_ contents: [FileName: FileName], allowed: [CheckFinding.Kind] = []) throws -> String? {
        guard names == Set(contents.keys) else { return "there are \(names.sorted())" }
        for (name, content) in contents {
            guard let expected = RecordedHistory.contents[content] else { return "no content \(content)" }
            let snapshot = try #require(repository.snapshot(named: name))
            guard let root = try? repository.rootDirectory(of: snapshot) else { return "the folder of \(name)" }
            for file in expected {
                guard let entry = root.entry(named: file.name),
                    (try? repository.bytes(of: entry.content, limitBytes: 1 << 20)) == file.bytes
                else { return "\(name)/\(file.name)" }
            }
        }
        var found: [String] = []
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event, !allowed.contains(finding.kind) { found.append("\(finding.error)") }
        }
        if try check.run().damagedFileCount != 0 { found.append("damaged files") }
        return found.isEmpty ? nil : found.joined(separator: "\n")
    }
}
