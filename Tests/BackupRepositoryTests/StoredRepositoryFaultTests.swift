import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Whatever happens to a request of a backup, a removal, a prune or a restore: what was there stays whole.
@Suite struct StoredRepositoryFaultTests {
    private static let faults: [SimulatedFault] = [
        .lostRequest, .lostAnswer, .late(requestCount: 3), .denied, .serverError, .truncated, .wrongBytes,
        .killed(hasEffect: false), .killed(hasEffect: true),
    ]

    private enum Step: String, CaseIterable { case backup, rename, removal, prune, secondPrune }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Two backups, one of which is removed before a prune.
    private func prepare(_ server: SimulatedServer, _ cache: String, for step: Step) throws {
        let stored = try StoredRepository.create(on: server, cache)
        try stored.backUp("one")
        try stored.backUp("three", seconds: 1_001)
        guard step == .prune || step == .secondPrune else { return }
        try stored.backUp("next", seconds: 1_002)
        try stored.repository.removeSnapshot(stored.id(of: "next"))
        guard step == .secondPrune else { return }
        _ = try RepositoryPrune(stored.repository, maxUnused: .bytes(0)).run()
        server.advance(seconds: 86_401)
    }

    private func perform(_ step: Step, _ stored: StoredRepository) throws {
        switch step {
        case .backup: try stored.backUp("two", seconds: 1_003)
        case .rename: try stored.repository.renameSnapshot(stored.id(of: "three"), to: "renamed")
        case .removal: try stored.repository.withdrawSnapshots([stored.id(of: "three")], at: SystemClock.now())
        case .prune, .secondPrune: _ = try RepositoryPrune(stored.repository, maxUnused: .bytes(0)).run()
        }
    }

    /// The snapshots after the step, if it was done, and their contents.
    private func expected(_ step: Step, isDone: Bool) -> [FileName: FileName] {
        let before: [FileName: FileName] = ["one": "one", "three": "three"]
        guard isDone else { return before }
        switch step {
        case .backup: return ["one": "one", "three": "three", "two": "two"]
        case .rename: return ["one": "one", "renamed": "three"]
        case .removal: return ["one": "one"]
        case .prune, .secondPrune: return before
        }
    }

    private static func name(_ fault: SimulatedFault) -> String { "\(fault)" }

    @Test(arguments: Step.allCases) private func `each request fails in each way`(step: Step) throws {
        let count = try requestCount(of: step)
        #expect(count >= 5)
        var cases: [(Int, SimulatedFault)] = []
        for number in 1...count { cases += Self.faults.map { (number, $0) } }
        for (number, fault) in Rounds.part(of: cases, oneIn: 24) {
            let comment: Comment = "request \(number) of \(count): \(Self.name(fault))"
            let server = SimulatedServer()
            let cache = folder("\(step)-\(number)-\(RandomToken.make())")
            try prepare(server, cache + "/a", for: step)
            var failed: BackupError?
            do {
                let stored = try StoredRepository.open(on: server, cache + "/a")
                var network = SimulatedNetwork.good
                network.scheduled = [stored.storage.requestCount + number: fault]
                stored.storage.network = network
                do { try perform(step, stored) } catch { failed = error as? BackupError }
            }
            // Another machine, which knows nothing of it.
            let other = try StoredRepository.open(on: server, cache + "/b")
            let (undone, done) = (expected(step, isDone: false), expected(step, isDone: true))
            if failed == nil { #expect(other.names == Set(done.keys), comment) }
            let found = other.names == Set(done.keys) ? done : undone
            #expect(try other.flaw(found) == nil, comment)
            // The lock of a program that is gone stops no other one for long.
            server.advance(seconds: 700)
            if other.names == Set(undone.keys) || step == .prune || step == .secondPrune {
                try perform(step, other)
                #expect(try StoredRepository.open(on: server, cache + "/c").flaw(done) == nil, comment)
            }
            // A refresh in the background may still be adding something.
            try? FileManager.default.removeItem(atPath: cache)
        }
    }

    /// What a restore asks of the server, on a machine that has nothing of the repository yet.
    private func readAll(_ storage: SimulatedStorage, _ cache: String) throws -> String? {
        let stored = try StoredRepository.open(storage, cache)
        for name: FileName in ["one", "three"] {
            if let flaw = try RecordedHistory.flaw(of: name, in: stored.repository) { return flaw }
        }
        return nil
    }

    @Test func `each request of a restore fails in each way, and no wrong byte is read`() throws {
        let server = SimulatedServer()
        try prepare(server, folder("writer"), for: .backup)
        let counted = SimulatedStorage(server)
        #expect(try readAll(counted, folder("counted")) == nil)
        let count = counted.requestCount
        #expect(count >= 5)
        let (objectCount, usedBytes) = (server.objectCount, server.usedBytes)
        for number in 1...count {
            for fault in Self.faults {
                let comment: Comment = "request \(number) of \(count): \(Self.name(fault))"
                let cache = folder("reader-\(RandomToken.make())")
                let storage = SimulatedStorage(server)
                var network = SimulatedNetwork.good
                network.scheduled = [number: fault]
                storage.network = network
                // An error, or all bytes as they were stored.
                var flaw: String?
                do { flaw = try readAll(storage, cache) } catch { #expect(error is BackupError, comment) }
                #expect(flaw == nil, comment)
                // The cache believes nothing of what the failure has left in it.
                #expect(try readAll(SimulatedStorage(server), cache) == nil, comment)
                // A refresh in the background may still be adding something.
                try? FileManager.default.removeItem(atPath: cache)
            }
        }
        #expect(server.objectCount == objectCount && server.usedBytes == usedBytes)
    }

    private func requestCount(of step: Step) throws -> Int {
        let server = SimulatedServer()
        try prepare(server, folder("count-\(step)/a"), for: step)
        let stored = try StoredRepository.open(on: server, folder("count-\(step)/a"))
        let before = stored.storage.requestCount
        try perform(step, stored)
        return stored.storage.requestCount - before
    }
}
