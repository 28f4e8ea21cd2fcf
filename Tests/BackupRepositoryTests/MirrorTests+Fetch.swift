import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A fetch makes the repository again from its mirror.
extension MirrorTests {
    @Test(arguments: [false, true]) func `a fetch makes the repository again, without a password`(isEncrypted: Bool) throws {
        let repository = try make(isEncrypted: isEncrypted)
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        let summary = try MirrorFetch(from: storage, to: folder("fetched")).run()
        #expect(summary.damages.isEmpty && summary.snapshotCount == 3)
        #expect(try expectWhole(folder("fetched"), "fetched") == Set(Self.names))
        #expect(try FileSystem.status(folder("fetched")).mode & 0o777 == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("fetched/tmp")) == [])
        #expect(errorCode { _ = try MirrorFetch(from: storage, to: folder("fetched")).run() } == .alreadyExists)
        // It is a repository like any other.
        try RecordedHistory.backUp("next", in: try open(folder("fetched")), seconds: 3_000)
        #expect(try expectWhole(folder("fetched"), "next") == Set(Self.names + ["next"]))
    }

    @Test func `a fetch that fails at any request is no repository, and goes on`() throws {
        let repository = try make()
        try update(repository, SimulatedStorage(server))
        var failureCount = 0
        for number in 1...200 {
            for fault in [SimulatedFault.lostAnswer, .truncated, .killed(hasEffect: true)] {
                var network = SimulatedNetwork.good
                network.scheduled = [number: fault]
                let storage = SimulatedStorage(server, network)
                let path = folder("fetched-\(number)-\(fault)")
                let error = failure { _ = try MirrorFetch(from: storage, to: path).run() }
                let comment: Comment = "\(fault) at request \(number)"
                if error != nil {
                    failureCount += 1
                    // The copy of the configuration is the last but one: all the rest is there then.
                    if try Repository.exists(at: path) { _ = try expectWhole(path, comment, allowed: [.config]) }
                    _ = try MirrorFetch(from: SimulatedStorage(server), to: path).run()
                }
                #expect(try expectWhole(path, comment) == Set(Self.names), comment)
                try FileManager.default.removeItem(atPath: path)
                if storage.requestCount < number { return #expect(failureCount > 10) }
            }
        }
    }

    @Test func `a fetch leaves out what is damaged, and says so`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        let pack = try #require(repository.packs().first)
        let name = MirrorObject.pack(pack).name
        let (bytes, version) = try #require(try storage.contents(of: name, limitBytes: 1 << 30))
        var damaged = bytes
        damaged[40] ^= 4
        _ = try storage.replace(name, version: version, ObjectDraft(damaged))
        let summary = try MirrorFetch(from: storage, to: folder("fetched")).run()
        #expect(summary.damages.count == 1)
        #expect(summary.damages.first?.path?.hasSuffix(name.text) == true)
        #expect(try !open(folder("fetched")).packs().contains(pack))
    }

    @Test func `a folder with something in it is not fetched into`() throws {
        let repository = try make()
        let storage = SimulatedStorage(server)
        try update(repository, storage)
        try FileManager.default.createDirectory(atPath: folder("full"), withIntermediateDirectories: true)
        try writeFile(folder("full/letter.txt"), [1])
        #expect(errorCode { _ = try MirrorFetch(from: storage, to: folder("full")).run() } == .notEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("full")) == ["letter.txt"])
        let empty = SimulatedStorage(SimulatedServer())
        #expect(errorCode { _ = try MirrorFetch(from: empty, to: folder("new")).run() } == .noRepository)
        #expect(!FileManager.default.fileExists(atPath: folder("new")))
    }
}
