import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Packs of a mirror are compared with their checksums, and damaged ones replaced.
@Suite struct MirrorVerificationTests {
    private let folder: TemporaryFolder
    private let storage = SimulatedStorage(SimulatedServer())

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func make(isEncrypted: Bool = false) throws -> Repository {
        let repository = try Repository.create(
            at: folder("original"), password: isEncrypted ? EncryptionTests.secret("horse") : nil, cost: EncryptionTests.cheap)
        try RecordedHistory.backUp("one", in: repository)
        try RecordedHistory.backUp("two", in: repository, seconds: 1_001)
        var state = MirrorState()
        _ = try RepositoryMirror(of: repository, in: storage).update(&state)
        return repository
    }

    private func verify(
        _ repository: Repository, _ subset: DataSubset = .all, _ verified: (any ObjectStorage)? = nil
    ) throws -> RepositoryMirror.Verification {
        let storage = verified ?? storage
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"), writingTo: storage)
        try remote.refresh()
        let copy = try remote.open(sharingKeysOf: repository, catalogHome: .folder(folder("catalogs")))
        return try RepositoryMirror(of: repository, in: storage).verify(copy, subset)
    }

    private func bytes(_ pack: PackID) throws -> [UInt8] {
        try #require(try storage.contents(of: MirrorObject.pack(pack).name, limitBytes: 1 << 30)).bytes
    }

    /// Changes one byte; the length stays.
    private func flip(_ pack: PackID, at offset: Int) throws {
        let name = MirrorObject.pack(pack).name
        let (bytes, version) = try #require(try storage.contents(of: name, limitBytes: 1 << 30))
        var damaged = bytes
        damaged[offset < 0 ? bytes.count + offset : offset] ^= 4
        _ = try storage.replace(name, version: version, ObjectDraft(damaged))
    }

    @Test(arguments: [false, true], [3, 40, -100, -3])
    func `a flipped byte of the same length is repaired from here`(isEncrypted: Bool, offset: Int) throws {
        let repository = try make(isEncrypted: isEncrypted)
        let packs = try repository.packs()
        let sound = try verify(repository)
        #expect(sound.packCount == packs.count && sound.repairedPackCount == 0 && sound.damages.isEmpty)
        let pack = try #require(packs.randomElement())
        let whole = try bytes(pack)
        try flip(pack, at: offset)
        let found = try verify(repository)
        #expect(found.packCount == packs.count && found.repairedPackCount == 1 && found.damages.isEmpty)
        #expect(try bytes(pack) == whole)
        #expect(try verify(repository).repairedPackCount == 0)
    }

    @Test func `what is damaged here as well, or not here, is reported and stays as it is`() throws {
        let repository = try make()
        let packs = try repository.packs()
        try flip(packs[0], at: 40)
        try flip(packs[1], at: 40)
        let (first, second) = (try bytes(packs[0]), try bytes(packs[1]))
        var own = try readFile(repository.layout.packPath(of: packs[0]))
        own[50] ^= 1
        try writeFile(repository.layout.packPath(of: packs[0]), own)
        try FileManager.default.moveItem(atPath: repository.layout.packPath(of: packs[1]), toPath: folder("aside"))
        let found = try verify(repository)
        #expect(found.repairedPackCount == 0 && found.damages.count == 2)
        #expect(found.damages.allSatisfy { $0.code == .repositoryDamaged && $0.path?.hasPrefix("simulated:") == true })
        #expect(try bytes(packs[0]) == first && bytes(packs[1]) == second)
    }

    @Test func `a good pack is not replaced because of a bad one here`() throws {
        let repository = try make()
        let pack = try #require(repository.packs().first)
        let whole = try bytes(pack)
        var own = try readFile(repository.layout.packPath(of: pack))
        own[40] ^= 1
        try writeFile(repository.layout.packPath(of: pack), own)
        let found = try verify(repository)
        #expect(found.repairedPackCount == 0 && found.damages.isEmpty)
        #expect(try bytes(pack) == whole)
    }

    @Test func `all parts together read each pack once`() throws {
        let repository = try make()
        var count = 0
        for part in 1...3 { count += try verify(repository, .part(part, of: 3)).packCount }
        #expect(try count == repository.packs().count)
    }

    @Test func `a connection that fails is no damage`() throws {
        let repository = try make()
        let whole = try repository.packs().map(bytes)
        for number in 1...60 {
            let server = SimulatedNetwork.good
            var network = server
            network.scheduled = [storage.requestCount + number: .lostAnswer]
            storage.network = network
            let found = Result { try verify(repository) }
            storage.network = .good
            switch found {
            case .success(let found): #expect(found.repairedPackCount == 0 && found.damages.isEmpty)
            case .failure(let error): #expect((error as? BackupError)?.code == .offline)
            }
        }
        #expect(try repository.packs().map(bytes) == whole)
    }
}
