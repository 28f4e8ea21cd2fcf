import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A mirror is a repository at every moment, whatever happens to its requests, and a fetch makes the same repository of it.
@Suite struct MirrorTests {
    static let names: [FileName] = ["one", "two", "three"]

    let folder: TemporaryFolder
    let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Three backups, one of which is pinned and one renamed, and a source.
    func make(_ name: String = "original", isEncrypted: Bool = false) throws -> Repository {
        let repository = try Repository.create(
            at: folder(name), password: isEncrypted ? EncryptionTests.secret("horse") : nil, cost: EncryptionTests.cheap)
        for (number, name) in Self.names.enumerated() {
            try RecordedHistory.backUp(name, in: repository, seconds: Int64(1_000 + number))
        }
        try repository.setPinned(try #require(repository.snapshot(named: "two")).id, true)
        let source = SourceID(hexadecimal: "0123456789abcdef0123456789abcdef")
        try repository.write(
            SourceDocument(
                id: try #require(source), storeID: "s", app: "a", title: "A", hostName: "h", storePath: "/s", definition: nil,
                settings: "x: 1\n"))
        return repository
    }

    func open(_ path: String) throws -> Repository {
        try Repository.open(at: path) { (_) throws(BackupError) in .password(EncryptionTests.secret("horse")) }
    }

    @discardableResult
    func update(_ repository: Repository, _ storage: any ObjectStorage) throws -> RepositoryMirror.Summary {
        var state = MirrorState()
        return try RepositoryMirror(of: repository, in: storage).update(&state)
    }

    /// Copies all objects into a folder, as any program can.
    private func copy(_ storage: any ObjectStorage, to name: String) throws -> String {
        let path = folder(name)
        try? FileManager.default.removeItem(atPath: path)
        try storage.forEachObject { (facts) throws(BackupError) in
            let file = "\(path)/\(facts.name)"
            try FileSystem.makeDirectories(FileSystem.parentPath(file))
            let bytes = try storage.contents(of: facts.name, limitBytes: 1 << 30)?.bytes ?? []
            try FileSystem.writeForReaders(file, bytes)
        }
        return path
    }

    /// Every backup that the copy lists is whole, and nothing is wrong with it but what `allowed` says.
    func expectWhole(_ path: String, _ comment: Comment, allowed: [CheckFinding.Kind] = []) throws -> Set<FileName> {
        let repository = try open(path)
        let names = Set(repository.snapshots().map(\.name))
        for name in names { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, comment) }
        var findings: [String] = []
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event, !allowed.contains(finding.kind) { findings.append("\(finding.error)") }
        }
        #expect(try check.run().damagedFileCount == 0, comment)
        #expect(findings == [], comment)
        return names
    }

    @Test(arguments: [false, true]) func `a plain copy of a mirror is the repository`(isEncrypted: Bool) throws {
        let repository = try make(isEncrypted: isEncrypted)
        let storage = SimulatedStorage(server)
        let summary = try update(repository, storage)
        #expect(summary.addedSnapshotCount == 3)
        #expect(summary.snapshotCount == 3)
        #expect(try summary.uploadedPackCount == repository.packs().count)
        let path = try copy(storage, to: "copy")
        #expect(try expectWhole(path, "copy") == Set(Self.names))
        let copied = try open(path)
        #expect(copied.id == repository.id)
        #expect(copied.snapshots().filter(\.isPinned).map(\.name) == ["two"])
        #expect(try copied.sources().map(\.title) == ["A"])
        #expect(copied.registerError == nil && copied.snapshotsWithoutLabel().isEmpty)
        // All files of the repository are there with the same bytes, but for locks, the catalog and the register. A folder needs
        // no batches of indexes.
        let diff = try run([
            "diff", "-r", "-x", "*lock*", "-x", "catalog*", "-x", "register", "-x", "tmp", "-x", "removed", "-x", "indexes",
            repository.path, path,
        ])
        #expect(diff.output == "")
    }

    @Test func `an independent reader reads a plain copy of a mirror`() throws {
        let repository = try make()
        let storage = try FolderStorage.make(at: folder("bucket"))
        try update(repository, storage)
        for name in Self.names {
            let target = folder("read-\(name)")
            let result = try run(["python3", Fixtures.reader, "restore", folder("bucket"), "\(name)", target])
            #expect(result.status == 0, "\(result.output)")
            for file in RecordedHistory.contents[name] ?? [] {
                #expect(try readFile("\(target)/\(file.name)") == file.bytes, "\(name)/\(file.name)")
            }
        }
    }

    /// Another machine removes a backup, for good, between the moment in which an update reads the register and that in which it
    /// replaces it.
    @Test func `what another machine strikes out of the register is not entered again`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        try RecordedHistory.backUp("next", in: repository, seconds: 2_000)
        let one = try #require(repository.snapshot(named: "one")).id
        let next = try #require(repository.snapshot(named: "next")).id
        let register = MirrorObject.register.name
        let wasCalled = Flag()
        let hooked = HookedStorage(
            storage: storage,
            willReplace: { (name) throws(BackupError) in
                guard name == register, wasCalled.set() else { return }
                guard let (bytes, version) = try storage.contents(of: name, limitBytes: 1 << 20) else { return }
                var other = try SnapshotRegister(decoding: bytes)
                other.strikeOut([one])
                try storage.remove(MirrorObject.snapshot(one).name, version: nil)
                _ = try storage.replace(name, version: version, ObjectDraft(other.encode()))
            }, willCreate: { (_) throws(BackupError) in })
        try update(repository, hooked)
        #expect(wasCalled.isSet)
        let found = try SnapshotRegister(decoding: #require(try storage.contents(of: register, limitBytes: 1 << 20)).bytes)
        #expect(found.isLabelled[one] == nil && found.isLabelled[next] == false)
        #expect(found.isLabelled.count == 3)
    }

    @Test func `an update uploads only what is new`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        var state = MirrorState()
        let mirror = RepositoryMirror(of: repository, in: storage, stateFolder: folder("indexes"))
        _ = try mirror.update(&state)
        let usedBytes = server.usedBytes
        var before = storage.traffic
        var summary = try mirror.update(&state)
        #expect(summary.uploadedBytes == 0 && summary.uploadedPackCount == 0 && summary.addedSnapshotCount == 0)
        #expect(storage.traffic[.create] == before[.create] && storage.traffic[.replace] == before[.replace])
        // One listing, the configuration, the register.
        #expect(storage.traffic.total.requestCount - before.total.requestCount == 3)
        // Without the state, small objects are compared.
        state = MirrorState()
        summary = try mirror.update(&state)
        #expect(summary.uploadedBytes == 0 && server.usedBytes == usedBytes)
        state = MirrorState(decoding: state.encoded)
        before = storage.traffic
        _ = try mirror.update(&state)
        #expect(storage.traffic.total.requestCount - before.total.requestCount == 3)

        try RecordedHistory.backUp("next", in: repository, seconds: 3_000)
        try repository.setPinned(try #require(repository.snapshot(named: "next")).id, true)
        before = storage.traffic
        summary = try mirror.update(&state)
        // What was stored is not looked for.
        #expect(storage.traffic[.look] == before[.look])
        #expect(storage.traffic[.list].requestCount - before[.list].requestCount == 2)
        #expect(storage.traffic[.read].requestCount - before[.read].requestCount == 2)
        #expect(storage.traffic[.replace].requestCount - before[.replace].requestCount == 1)
        let register = try #require(try storage.contents(of: MirrorObject.register.name, limitBytes: 1 << 20)).bytes
        let next = try #require(repository.snapshot(named: "next")).id
        #expect(try SnapshotRegister(decoding: register).isLabelled[next] == true)
        #expect(summary.addedSnapshotCount == 1 && summary.snapshotCount == 4)
        #expect(try expectWhole(copy(storage, to: "copy"), "next") == Set(Self.names + ["next"]))
    }

    @Test func `an update that begins with an earlier look does not look again`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        var state = MirrorState()
        let mirror = RepositoryMirror(of: repository, in: storage, stateFolder: folder("indexes"))
        _ = try mirror.update(&state)
        let look = try RepositoryMirror.look(at: storage)
        // It is made before the backup is.
        try RecordedHistory.backUp("next", in: repository, seconds: 3_000)
        var before = storage.traffic
        let summary = try mirror.update(&state, beginningWith: look)
        #expect(summary.addedSnapshotCount == 1 && summary.snapshotCount == 4)
        // The lists of a prune, the register; and no label of a backup that has none.
        #expect(storage.traffic[.list].requestCount - before[.list].requestCount == 1)
        #expect(storage.traffic[.read].requestCount - before[.read].requestCount == 1)
        #expect(storage.traffic[.look] == before[.look])
        #expect(try expectWhole(copy(storage, to: "copy"), "next") == Set(Self.names + ["next"]))
        // An old one is made again.
        let old = MirrorLook(
            begin: SystemClock.bootNanoseconds() - 30_000_000_000, present: look.present, storedBytes: look.storedBytes,
            configuration: look.configuration)
        before = storage.traffic
        #expect(try mirror.update(&state, beginningWith: old).snapshotCount == 4)
        #expect(storage.traffic.total.requestCount - before.total.requestCount == 3)
        // What it has found is of another repository.
        let other = SimulatedStorage(SimulatedServer())
        try update(try make("other"), other)
        let foreign = try RepositoryMirror.look(at: other)
        #expect(errorCode { _ = try mirror.update(&state, beginningWith: foreign) } == .notPermitted)
        #expect(throws: BackupError.self) {
            _ = try RepositoryMirror(of: repository, in: other).update(&state, beginningWith: foreign)
        }
        #expect(try open(copy(other, to: "foreign")).id == open(folder("other")).id)
    }

    @Test func `a removed backup stays in the mirror, and a changed label arrives`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        var state = MirrorState()
        let mirror = RepositoryMirror(of: repository, in: storage)
        _ = try mirror.update(&state)
        try repository.removeSnapshot(try #require(repository.snapshot(named: "one")).id)
        try repository.setPinned(try #require(repository.snapshot(named: "three")).id, true)
        _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        _ = try mirror.update(&state)
        let path = try copy(storage, to: "copy")
        #expect(try expectWhole(path, "copy") == Set(Self.names))
        #expect(try open(path).snapshots().filter(\.isPinned).map(\.name) == ["two", "three"])
        #expect(try Set(open(folder("original")).snapshots().map(\.name)) == ["two", "three"])
    }

    /// What a user finds whose machine is lost at this moment.
    @Test(
        arguments: Rounds.part(
            of: [
                SimulatedFault.lostRequest, .lostAnswer, .late(requestCount: 2), .duplicate, .denied, .serverError, .wrongBytes,
                .truncated, .killed(hasEffect: false), .killed(hasEffect: true),
            ], oneIn: 3))
    func `at every request that fails, each backup in the mirror is whole`(fault: SimulatedFault) throws {
        let repository = try make()
        var failureCount = 0
        for number in 1...200 {
            let server = SimulatedServer()
            var network = SimulatedNetwork.good
            network.scheduled = [number: fault]
            let storage = SimulatedStorage(server, network)
            let error = failure { _ = try update(repository, storage) }
            if storage.requestCount < number { break }
            failureCount += error == nil ? 0 : 1
            let comment: Comment = "\(fault) at request \(number)"
            let good = SimulatedStorage(server)
            if try good.look(#require(ObjectName("config"))) != nil {
                // The register and labels come last.
                _ = try expectWhole(copy(good, to: "cut"), comment, allowed: [.record, .label])
            }
            try update(repository, good)
            #expect(try expectWhole(copy(good, to: "again"), comment) == Set(Self.names), comment)
        }
        #expect(fault == .duplicate || failureCount > 10)
    }

    @Test func `two updates at once leave one whole mirror`() throws {
        let repository = try make()
        let clients = (0..<4).map { SimulatedStorage(server, seed: UInt64($0)) }
        let errors = LockedArray<String>()
        DispatchQueue.concurrentPerform(iterations: clients.count) { number in
            do {
                try update(repository, clients[number])
            } catch {
                if (error as? BackupError)?.code != .conflict { errors.append("\(error)") }
            }
        }
        #expect(errors.values == [])
        try update(repository, clients[0])
        #expect(try expectWhole(copy(clients[0], to: "copy"), "copy") == Set(Self.names))
    }

    @Test func `the change logs of devices may lie beside a mirror, and stay`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        let log = try #require(ObjectName("devices/000102030405060708090a0b0c0d0e0f/0000000000000001.changes"))
        _ = try storage.create(log, ObjectDraft([1, 2, 3]))
        #expect(try RepositoryMirror.facts(in: storage) == nil)
        try update(repository, storage)
        #expect(try storage.contents(of: log, limitBytes: 3)?.bytes == [1, 2, 3])
        #expect(try expectWhole(copy(storage, to: "copy"), "copy") == Set(Self.names))
    }

    @Test func `a place with something else in it is refused`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        _ = try storage.create(try #require(ObjectName("holiday.jpg")), ObjectDraft([1, 2, 3]))
        #expect(errorCode { try update(repository, storage) } == .notEmpty)
        #expect(server.objectCount == 1)
        let other = SimulatedStorage(SimulatedServer())
        try update(try make("other"), other)
        #expect(errorCode { try update(repository, other) } == .notPermitted)
        let path = try copy(other, to: "copy")
        #expect(try open(path).id == open(folder("other")).id)
        // Also when the last update found the copy of this repository in a storage with the same versions.
        var state = MirrorState()
        let own = SimulatedStorage(SimulatedServer())
        _ = try RepositoryMirror(of: repository, in: own).update(&state)
        let count = other.traffic[.create]
        #expect(errorCode { _ = try RepositoryMirror(of: repository, in: other).update(&state) } == .notPermitted)
        #expect(other.traffic[.create] == count && other.traffic[.replace].requestCount == 0)
    }

    @Test(arguments: [40, -60])
    func `a damaged pack is not uploaded, nor a backup that needs it, and the others are`(offset: Int) throws {
        let repository = try make()
        let packs = try repository.packs()
        var names: Set<Set<FileName>> = []
        for (number, pack) in packs.enumerated() {
            let path = repository.layout.packPath(of: pack)
            let whole = try readFile(path)
            // A chunk, or the index.
            try Damage.flip(path, at: offset > 0 ? offset : whole.count + offset)
            let server = SimulatedServer()
            let storage = SimulatedStorage(server)
            let opened = try open(repository.path)
            let summary = try update(opened, storage)
            #expect(summary.unreadable.allSatisfy { $0.code == .repositoryDamaged })
            #expect(try storage.look(MirrorObject.pack(pack).name) == nil)
            let uploaded = try expectWhole(copy(storage, to: "copy-\(number)"), "without pack \(number)", allowed: [.label])
            // The pack, and each backup that is left out.
            #expect(summary.unreadable.count == 1 + Self.names.count - uploaded.count, "\(summary.unreadable)")
            names.insert(uploaded)
            // Once the pack is repaired, the mirror gets the rest.
            try writeFile(path, whole)
            try update(open(repository.path), storage)
            #expect(try expectWhole(copy(storage, to: "copy-\(number)"), "repaired") == Set(Self.names))
        }
        #expect(packs.count > 3)
        #expect(names.contains { !$0.isEmpty && $0.count < Self.names.count }, "\(names)")
    }

    /// The mirror's key, label and source may be the only whole ones.
    @Test func `a damaged file does not replace a whole one of the mirror`() throws {
        let repository = try make(isEncrypted: true)
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        let layout = repository.layout
        let two = try #require(repository.snapshot(named: "two")).id
        let source = try #require(repository.sources().first).id
        for path in [layout.key, layout.keyCopy, layout.config, layout.labelPath(of: two), layout.sourcePath(of: source)] {
            try Damage.flip(path)
        }
        let summary = try update(repository, storage)
        #expect(summary.unreadable.count == 4)
        let path = try copy(storage, to: "copy")
        #expect(try expectWhole(path, "copy") == Set(Self.names))
        #expect(try open(path).snapshots().filter(\.isPinned).map(\.name) == ["two"])
        #expect(try open(path).sources().count == 1)
    }

    /// A first upload takes days: space can be freed meanwhile, and each record has its packs all the same.
    @Test func `a prune in the middle of an upload is not refused`() throws {
        let repository = try Repository.create(at: folder("original"))
        let names: [FileName] = ["a", "b", "c"]
        for (number, name) in names.enumerated() {
            let writer = try repository.makeWriter()
            // More than is uploaded under a lock.
            let content = try writer.store(TestData.random(48 << 20, seed: UInt64(number)), policy: .media)
            let entry = TreeEntry.file(name: "film", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content)
            try writer.commit(named: name, entries: [entry], seconds: Int64(1_000 + number))
        }
        let other = try open(repository.path)
        let pruned = Monitor(0)
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text.hasPrefix("packs/"),
                pruned.withLock({
                    $0 += 1; return $0
                }) == 2
            else { return }
            guard let snapshot = other.snapshot(named: "b") else { return }
            try other.removeSnapshot(snapshot.id)
            let summary = try RepositoryPrune(other, maxUnused: .bytes(0)).run()
            if summary.removedPackCount + summary.rewrittenPackCount == 0 { throw BackupError(.notFound, "nothing was pruned") }
        }
        try update(repository, storage)
        #expect(pruned.withLock { $0 } >= 2)
        let copied = try open(copy(SimulatedStorage(server), to: "copy"))
        #expect(Set(copied.snapshots().map(\.name)) == ["a", "c"])
        var check = RepositoryCheck(copied, readData: .all) { _ in }
        #expect(try check.run().damagedFileCount == 0)
    }

    /// Its records then look as if they had been removed.
    @Test func `a disk that is unmounted during an update is an error`() throws {
        let repository = try make()
        let path = repository.path
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text.hasPrefix("sources/") else { return }
            try FileSystem.rename(path, to: path + "-away")
            try FileSystem.makeDirectories(path)
        }
        #expect(errorCode { try update(repository, storage) } == .noRepository)
        try FileManager.default.removeItem(atPath: path)
        try FileSystem.rename(path + "-away", to: path)
        try update(repository, SimulatedStorage(server))
        #expect(try expectWhole(copy(SimulatedStorage(server), to: "copy"), "copy") == Set(Self.names))
    }

    /// More than is uploaded under a lock: its packs must not go to a foreign place.
    @Test func `another disk at the place of the repository is not uploaded`() throws {
        let repository = try make()
        let other = try Repository.create(at: folder("other"))
        let writer = try other.makeWriter()
        let content = try writer.store(TestData.random(72 << 20, seed: 9), policy: .media)
        let entry = TreeEntry.file(name: "film", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content)
        try writer.commit(named: "foreign", entries: [entry], seconds: 1_000)
        let packs = try other.packs()
        try FileSystem.rename(repository.path, to: folder("away"))
        try FileSystem.rename(other.path, to: repository.path)
        let storage = SimulatedStorage(server)
        #expect(errorCode { try update(repository, storage) } == .notPermitted)
        #expect(server.objectCount == 0)
        // Also when it appears after the beginning.
        try FileSystem.rename(repository.path, to: folder("other"))
        try FileSystem.rename(folder("away"), to: repository.path)
        let (place, foreign) = (repository.path, folder("other"))
        let hooked = HookedStorage(storage: storage) { (name) throws(BackupError) in
            guard name.text == "config" else { return }
            try FileSystem.rename(place, to: place + "-away")
            try FileSystem.rename(foreign, to: place)
        }
        #expect(errorCode { try update(repository, hooked) } == .notPermitted)
        for pack in packs { #expect(try storage.look(MirrorObject.pack(pack).name) == nil) }
    }

    @Test func `a pack that was cut off in the mirror is uploaded again`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        let name = MirrorObject.pack(try #require(repository.packs().first)).name
        let facts = try #require(try storage.look(name))
        _ = try storage.replace(name, version: facts.version, ObjectDraft([1, 2, 3]))
        try update(repository, storage)
        #expect(try storage.look(name)?.sizeBytes == facts.sizeBytes)
        #expect(try expectWhole(copy(storage, to: "copy"), "copy") == Set(Self.names))
    }
}
