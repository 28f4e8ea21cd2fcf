import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A repository that is kept in an object storage, and used by several machines.
@Suite struct StoredRepositoryTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func create(isEncrypted: Bool = false) throws -> StoredRepository {
        try StoredRepository.create(on: server, folder("first"), isEncrypted: isEncrypted)
    }

    private func open(_ cache: String = "second") throws -> StoredRepository {
        try StoredRepository.open(on: server, folder(cache))
    }

    /// Copies all objects into a folder, as any program can.
    private func copy(to name: String) throws -> String {
        let path = folder(name)
        let storage = SimulatedStorage(server)
        try storage.forEachObject { (facts) throws(BackupError) in
            let file = "\(path)/\(facts.name)"
            try FileSystem.makeDirectories(FileSystem.parentPath(file))
            try FileSystem.writeForReaders(file, storage.contents(of: facts.name, limitBytes: 1 << 30)?.bytes ?? [])
        }
        return path
    }

    @Test(arguments: [false, true]) func `two machines share one repository`(isEncrypted: Bool) throws {
        let first = try create(isEncrypted: isEncrypted)
        try first.backUp("one")
        let second = try open()
        #expect(try second.flaw(["one": "one"]) == nil)
        try second.backUp("two", seconds: 1_001)
        // A name, a pin and a removal by one machine, seen by the other.
        try first.backUp("three", seconds: 1_002)
        #expect(first.names == ["one", "two", "three"])
        try first.repository.renameSnapshot(first.id(of: "two"), to: "renamed")
        try first.repository.setPinned(first.id(of: "one"), true)
        try first.repository.withdrawSnapshots([first.id(of: "three")], at: SystemClock.now())
        let third = try open("third")
        #expect(try third.flaw(["one": "one", "renamed": "two"]) == nil)
        #expect(third.repository.snapshots().filter(\.isPinned).map(\.name) == ["one"])
        // By the storage's clock, which begins with the year 2026.
        let removed = try #require(try third.repository.removedSnapshots().first)
        #expect(removed.snapshot.name == "three")
        #expect((1_767_225_600...1_767_225_700).contains(try #require(removed.removalTime).seconds))
        _ = try third.repository.bringBackSnapshot(removed.snapshot.id)
        #expect(try open("fourth").flaw(["one": "one", "renamed": "two", "three": "three"]) == nil)
        // No lock is left.
        #expect(try SimulatedStorage(server).list(prefix: "locks/", after: nil).objects == [])
    }

    @Test func `an unchanged backup of a second machine stores no data again`() throws {
        let first = try create()
        try first.backUp("two")
        let second = try open()
        let before = server.usedBytes
        try second.backUp("next", seconds: 1_001)
        // 5,000 new bytes, folders, a record and their indexes.
        #expect(server.usedBytes - before < 14_000, "\(server.usedBytes - before)")
    }

    @Test func `two machines with one name for a backup keep both`() throws {
        let first = try create()
        let second = try open()
        try first.backUp("one")
        try second.backUp("one", seconds: 1_001)
        #expect(try open("third").flaw(["one": "one", "one_2": "one"]) == nil)
    }

    @Test(arguments: [false, true]) func `a plain copy of the storage is a repository`(isEncrypted: Bool) throws {
        let first = try create(isEncrypted: isEncrypted)
        try first.backUp("one")
        try first.backUp("two", seconds: 1_001)
        let path = try copy(to: "copy")
        let repository = try Repository.open(at: path) { (_) throws(BackupError) in .password(EncryptionTests.secret("horse")) }
        let copied = StoredRepository(storage: first.storage, repository: repository, remote: first.remote)
        #expect(try copied.flaw(["one": "one", "two": "two"]) == nil)
        guard !isEncrypted else { return }
        let result = try run(["python3", Fixtures.reader, "restore", path, "two", folder("read")])
        #expect(result.status == 0, "\(result.output)")
        for file in RecordedHistory.contents["two"] ?? [] {
            #expect(try readFile("\(folder("read"))/\(file.name)") == file.bytes, "\(file.name)")
        }
    }

    @Test func `a writer keeps others away, and names itself`() throws {
        let first = try create()
        let second = try open()
        let writer = try first.repository.makeWriter()
        let error = failure { _ = try second.repository.makeWriter() }
        #expect(error?.code == .busy)
        #expect(error?.message.english.hasPrefix("another operation is running: backup, by process \(getpid()) on ") == true)
        writer.abandon()
        try second.backUp("one")
    }

    /// Such as a laptop that slept.
    @Test func `a writer that was considered dead publishes nothing`() throws {
        let first = try create()
        try first.backUp("one")
        let second = try open()
        let writer = try first.repository.makeWriter(packSizeBytes: 24_000)
        let content = try writer.store([1, 2, 3], policy: .media)
        // Another machine removes the note of a stale lock.
        let note = try #require(try SimulatedStorage(server).list(prefix: "locks/", after: nil).objects.first).name
        try SimulatedStorage(server).remove(note, version: nil)
        try second.backUp("two", seconds: 1_001)
        LockRefresher.shared.refresh()
        let entry = TreeEntry.file(name: "x", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content)
        #expect(errorCode { try writer.commit(named: "late", entries: [entry], seconds: 1_002) } == .locked)
        #expect(try open("third").flaw(["one": "one", "two": "two"]) == nil)
    }

    /// The machine sleeps for days between the last look at its lock and the request that stores the record.
    @Test(arguments: [false, true]) func `a backup whose packs were removed meanwhile is none`(isPackRemoved: Bool) throws {
        let first = try create()
        try first.backUp("one")
        let server = server
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text.hasPrefix("snapshots/") else { return }
            let other = SimulatedStorage(server)
            for note in try other.list(prefix: "locks/", after: nil).objects { try other.remove(note.name, version: nil) }
            LockRefresher.shared.refresh()
            guard isPackRemoved, let pack = try other.list(prefix: "packs/", after: nil).objects.last else { return }
            try other.remove(pack.name, version: nil)
        }
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("slept"), writingTo: storage)
        try remote.refresh()
        let repository = try remote.open(catalogHome: .folder(folder("slept") + "/catalogs"))
        // It needs every pack.
        let failed = errorCode { try RecordedHistory.backUp("one", in: repository, seconds: 1_001) }
        #expect(failed == (isPackRemoved ? .repositoryDamaged : nil))
        #expect(try open("third").names == (isPackRemoved ? ["one"] : ["one", "one_2"]))
    }

    @Test func `offline, what was read can be read, and nothing changes`() throws {
        let first = try create()
        try first.backUp("one")
        #expect(try first.flaw(["one": "one"]) == nil)
        var network = SimulatedNetwork.good
        network.chances = [(.lostRequest, 1)]
        first.storage.network = network
        let objects = server.objectCount
        #expect(errorCode { try first.backUp("two", seconds: 1_001) } == .offline)
        #expect(errorCode { try first.repository.setPinned(first.id(of: "one"), true) } == .offline)
        #expect(errorCode { _ = try RepositoryPrune(first.repository).run() } == .offline)
        #expect(first.names == ["one"])
        let one = try #require(first.repository.snapshot(named: "one"))
        let tiny = try #require(try first.repository.rootDirectory(of: one).entry(named: "tiny"))
        #expect(try first.repository.bytes(of: tiny.content, limitBytes: 9) == [1, 2, 3])
        #expect(server.objectCount == objects)
        first.storage.network = .good
        try first.backUp("two", seconds: 1_001)
        #expect(try open().flaw(["one": "one", "two": "two"]) == nil)
    }

    /// A flipped bit on the server, in each pack.
    @Test(arguments: [40, -60]) func `a damaged pack is repaired on the server`(offset: Int) throws {
        let first = try create()
        try first.backUp("one")
        try first.backUp("two", seconds: 1_001)
        let storage = SimulatedStorage(server)
        let packs = try storage.list(prefix: "packs/", after: nil).objects.map(\.name)
        #expect(packs.count > 3)
        for pack in packs {
            guard let (found, version) = try storage.contents(of: pack, limitBytes: 1 << 20) else { continue }
            var bytes = found
            bytes[offset > 0 ? offset : bytes.count + offset] ^= 4
            _ = try storage.replace(pack, version: version, ObjectDraft(bytes))
        }
        let second = try open()
        #expect(try second.flaw(["one": "one", "two": "two"]) != nil)
        _ = try RepositoryRepair(second.repository) { _ in }.run()
        let flaw = try open("third").flaw(["one": "one", "two": "two"])
        #expect(flaw == nil)
    }

    @Test func `a record and a label that are damaged on the server are repaired`() throws {
        let first = try create()
        try first.backUp("one")
        try first.repository.setPinned(first.id(of: "one"), true)
        let storage = SimulatedStorage(server)
        for object in [MirrorObject.snapshot(try first.id(of: "one")), .label(try first.id(of: "one")), .register] {
            guard let (found, version) = try storage.contents(of: object.name, limitBytes: 1 << 20) else { continue }
            var bytes = found
            bytes[bytes.count / 2] ^= 4
            _ = try storage.replace(object.name, version: version, ObjectDraft(bytes))
        }
        let second = try open()
        #expect(second.names == [])
        _ = try RepositoryRepair(second.repository) { _ in }.run()
        // Of an unreadable record, the label was not looked at.
        _ = try RepositoryRepair(open("again").repository) { _ in }.run()
        let third = try open("third")
        let flaw = try third.flaw(["one": "one"])
        #expect(flaw == nil)
        #expect(third.repository.snapshots().filter { !$0.isPinned }.isEmpty)
        let setAside = try storage.list(prefix: "damaged/", after: nil).objects
        #expect(setAside.count == 3, "\(setAside.map(\.name))")
    }

    /// The disk has lost what was written without being synchronized, or changed it.
    @Test func `a damaged file of the cache harms nothing on the server`() throws {
        let first = try create()
        try first.backUp("one")
        try first.repository.setPinned(first.id(of: "one"), true)
        let layout = first.repository.layout
        let one = try first.id(of: "one")
        let paths = [layout.snapshotPath(of: one), layout.labelPath(of: one), layout.register]
        let names = [MirrorObject.snapshot(one), .label(one), .register].map(\.name)
        let storage = SimulatedStorage(server)
        let before = try names.map { (name) throws(BackupError) in try storage.contents(of: name, limitBytes: 1 << 20)?.bytes }
        for path in paths { try Damage.flip(path) }
        _ = try RepositoryRepair(first.repository) { _ in }.run()
        let after = try names.map { (name) throws(BackupError) in try storage.contents(of: name, limitBytes: 1 << 20)?.bytes }
        #expect(before == after)
        // Another program of this machine reads them again.
        for path in paths { try Damage.flip(path) }
        let again = try open("first")
        #expect(try again.flaw(["one": "one"]) == nil)
        #expect(again.repository.snapshots().filter(\.isPinned).map(\.name) == ["one"])
    }

    @Test func `a copy is not put in the place of a repository`() throws {
        let first = try create()
        try first.backUp("one")
        let local = try Repository.open(at: copy(to: "copy"))
        let storage = SimulatedStorage(server)
        var state = MirrorState()
        let objects = server.objectCount
        #expect(errorCode { _ = try RepositoryMirror(of: local, in: storage).update(&state) } == .notPermitted)
        #expect(errorCode { _ = try RepositoryMirror.facts(in: storage) } == .notPermitted)
        #expect(server.objectCount == objects)
    }

    @Test func `a second removal begins the time to bring it back again`() throws {
        let first = try create()
        try first.backUp("one")
        let one = try first.id(of: "one")
        try first.repository.withdrawSnapshots([one], at: SystemClock.now())
        // An interrupted undelete: the record is in both places.
        let removed = MirrorObject.removed(one).name
        let record = try #require(try SimulatedStorage(server).contents(of: removed, limitBytes: 1 << 20)).bytes
        _ = try SimulatedStorage(server).create(MirrorObject.snapshot(one).name, ObjectDraft(record))
        server.advance(seconds: 864_000)
        let second = try open()
        #expect(second.names == ["one"])
        try second.repository.withdrawSnapshots([one], at: SystemClock.now())
        let third = try open("third")
        let found = try #require(try third.repository.removedSnapshots().first)
        #expect(try #require(found.removalTime).seconds >= 1_767_225_600 + 864_000)
    }

    @Test func `a cancelled operation leaves no lock`() throws {
        let first = try create()
        let cancellation = Cancellation()
        let code = errorCode {
            try cancellation.run { () throws(BackupError) in
                let writer = try first.repository.makeWriter()
                cancellation.request()
                defer { writer.abandon() }
                try Cancellation.check()
            }
        }
        #expect(code == .interrupted)
        #expect(try SimulatedStorage(server).list(prefix: "locks/", after: nil).objects == [])
    }

    @Test func `a place with something in it is refused`() throws {
        let storage = SimulatedStorage(server)
        _ = try storage.create(#require(ObjectName("holiday.jpg")), ObjectDraft([1]))
        #expect(errorCode { _ = try create() } == .notEmpty)
        #expect(server.objectCount == 1)
        try storage.remove(#require(ObjectName("holiday.jpg")), version: nil)
        let first = try create()
        #expect(errorCode { _ = try StoredRepository.create(on: server, folder("other")) } == .alreadyExists)
        try first.backUp("one")
        #expect(try open().flaw(["one": "one"]) == nil)
    }

    /// Credentials that may not remove: a program that has taken over the machine removes nothing.
    @Test func `with credentials that may only add, backups are made`() throws {
        var options = SimulatedServer.Options()
        options.capabilities.remove(.removal)
        let server = SimulatedServer(options)
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("two", seconds: 1_001)
        let second = try StoredRepository.open(on: server, folder("second"))
        #expect(try second.flaw(["one": "one", "two": "two"]) == nil)
        let removal = errorCode { try first.repository.removeSnapshot(first.id(of: "one")) }
        #expect(removal == .accessDenied)
        #expect(try StoredRepository.open(on: server, folder("third")).flaw(["one": "one", "two": "two"]) == nil)
    }
}
