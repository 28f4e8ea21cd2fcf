import BackupCore
import Glibc
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Requests cost time, and on most servers money.
@Suite struct RequestCountTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func reopen() throws -> StoredRepository { try StoredRepository.open(on: server, folder("cache")) }

    private func counts(_ machine: StoredRepository) -> [SimulatedRequestKind: Int] {
        let traffic = machine.storage.traffic
        return Dictionary(
            uniqueKeysWithValues: SimulatedRequestKind.allCases.compactMap { kind in
                traffic[kind].requestCount > 0 ? (kind, traffic[kind].requestCount) : nil
            })
    }

    @Test(arguments: [false, true]) func `a backup reads nothing that this machine knows`(isEncrypted: Bool) throws {
        // Two locks, a pack of data and one of folders, a batch of indexes and the record; and the register. Each lock lists the
        // notes; then the first one lists everything, and the second one what comes before and after the packs.
        let expected: [SimulatedRequestKind: Int] = [.list: 6, .create: 6, .replace: 1, .remove: 2]
        var found: [SimulatedRequestKind: Int] = [:]
        // A machine under load may have to renew a lock in the middle of a backup: then all of it is done again.
        for _ in 0..<5 where found != expected { found = try Self().countsOfThirdBackup(isEncrypted: isEncrypted) }
        #expect(found == expected)
    }

    private func countsOfThirdBackup(isEncrypted: Bool) throws -> [SimulatedRequestKind: Int] {
        let first = try StoredRepository.create(on: server, folder("cache"), isEncrypted: isEncrypted)
        try first.backUp("one")
        try first.backUp("two", seconds: 1_001)
        let next = try reopen()
        #expect(counts(next) == [.list: 1])
        try next.backUp("next", seconds: 1_002)
        let found = counts(next)
        // The writer has added its own changes to the cache, and the check reads them in the storage.
        let last = try reopen()
        #expect(counts(last) == [.list: 1])
        #expect(try last.flaw(["one": "one", "two": "two", "next": "next"]) == nil)
        #expect(last.storage.traffic[.read].requestCount >= 3 + 3)
        return found
    }

    @Test func `what another machine changes is read`() throws {
        let first = try StoredRepository.create(on: server, folder("cache"))
        try first.backUp("one")
        let second = try StoredRepository.open(on: server, folder("second"))
        try second.repository.setPinned(second.id(of: "one"), true)
        try first.refresh()
        #expect(first.repository.snapshots().map(\.isPinned) == [true])
        // The label and the register.
        #expect(try reopen().repository.snapshots().map(\.isPinned) == [true])
        try first.repository.setPinned(first.id(of: "one"), false)
        try second.refresh()
        #expect(second.repository.snapshots().map(\.isPinned) == [false])
    }

    @Test func `a change of what another machine has changed meanwhile does not replace that`() throws {
        let first = try StoredRepository.create(on: server, folder("cache"))
        try first.backUp("one")
        try first.repository.setPinned(first.id(of: "one"), true)
        let label = first.repository.layout.labelPath(of: try first.id(of: "one"))
        let upstream = try #require(first.repository.layout.upstream)
        let second = try StoredRepository.open(on: server, folder("second"))
        try second.repository.renameSnapshot(second.id(of: "one"), to: "other")
        #expect(failure { try upstream.store([1, 2, 3], as: label) }?.code == .conflict)
        #expect(try StoredRepository.open(on: server, folder("third")).names == ["other"])
    }

    @Test func `lost notes of what was stored cost a transfer`() throws {
        let first = try StoredRepository.create(on: server, folder("cache"))
        try first.backUp("one")
        let added = folder("cache/versions.added")
        // Cut off within the last line, as a full disk does.
        let bytes = try readFile(added)
        #expect(bytes.last == UInt8(ascii: "\n") && bytes.count > 100)
        try FileSystem.writeForReaders(added, Array(bytes.dropLast(20)))
        let next = try reopen()
        #expect(counts(next) == [.list: 1, .read: 1])
        #expect(try !FileSystem.exists(added))
        #expect(try next.flaw(["one": "one"]) == nil)
    }

    /// The storage has the change, the cache has only the note of it: the file that was compared before is an old one.
    @Test func `a change by a process that was killed then is read by the others`() throws {
        let first = try StoredRepository.create(on: server, folder("cache"))
        try first.backUp("one")
        let id = try first.id(of: "one")
        try first.repository.setPinned(id, true)
        let label = first.repository.layout.labelPath(of: id)
        // Of a file that is older than the steps of the file system's time, it is remembered that it was compared.
        while !(try FileSystem.status(label)).isSettled { usleep(50_000) }
        let other = try reopen()
        try other.refresh()
        try first.refresh()
        let store = first.repository.snapshotStore
        let changed = try store.protection.seal(
            SnapshotLabel(name: "one", isPinned: false, verifiedAt: nil).encode(for: id), as: .snapshotLabel(id))
        #expect(changed.count == (try readFile(label)).count)
        try #require(first.repository.layout.upstream).store(changed, as: label)
        try other.refresh()
        #expect(other.repository.snapshots().map(\.isPinned) == [false])
        #expect(try readFile(label) == changed)
    }

    @Test func `a cache forgets what the storage has no longer`() throws {
        let first = try StoredRepository.create(on: server, folder("cache"))
        try first.backUp("one")
        try first.backUp("two", seconds: 1_001)
        try first.refresh()
        let id = try first.id(of: "one").hexadecimal
        let versions = folder("cache/versions")
        #expect(String(decoding: try readFile(versions), as: UTF8.self).contains(id))
        try first.repository.removeSnapshot(first.id(of: "one"))
        try first.refresh()
        #expect(!String(decoding: try readFile(versions), as: UTF8.self).contains(id))
        // Nor does what cannot be read keep it from working.
        for name in ["versions", "versions.added"] {
            try FileSystem.removeFile(folder("cache/\(name)"))
            try FileSystem.makeDirectories(folder("cache/\(name)"))
        }
        try first.backUp("three", seconds: 1_002)
        #expect(try StoredRepository.open(on: server, folder("second")).names == ["two", "three"])
    }
}
