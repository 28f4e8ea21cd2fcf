import BackupCore
import SQLite
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A new catalog that several open at the same moment, which each of them would create.
@Suite struct CatalogOpeningTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String) throws -> OpenCatalog {
        let place = CatalogLocation(folder: folder(name), isBesidePacks: false)
        return try CatalogDatabase.open(place, repositoryID: "0123")
    }

    @Test func `one that is opened many times in one moment is the same for all`() throws {
        for round in 0..<40 {
            _ = try folder.makeFolder("\(round)")
            let start = Monitor(0)
            let results = Monitor<[Result<Int64?, any Error>]>([])
            let threads = try (0..<8).map { _ in
                try SystemThread {
                    start.changeWakingAll { $0 += 1 }
                    _ = start.wait(until: { $0 == 8 }, forNanoseconds: 10_000_000_000)
                    let result = Result { try open("\(round)").generation }
                    results.withLock { $0.append(result) }
                }
            }
            for thread in threads { thread.join() }
            let generations = try results.withLock { $0 }.map { try $0.get() }
            #expect(generations.count == 8 && Set(generations).count == 1, "\(generations)")
        }
    }

    /// SQLite calls no busy handler when two connections change to a write-ahead log.
    @Test func `one that another connection creates is waited for`() throws {
        let path = try folder.makeFolder("one") + "/catalog.sqlite"
        let other = try DatabaseConnection(path, .create, .catalog)
        try other.execute("BEGIN IMMEDIATE")
        let outcome = Monitor<Result<Int64?, any Error>?>(nil)
        let thread = try SystemThread {
            let result = Result { try open("one").generation }
            outcome.changeWakingAll { $0 = result }
        }
        let endsAtOnce = outcome.wait(until: { $0 != nil }, forNanoseconds: 300_000_000)
        #expect(!endsAtOnce)
        try other.execute("COMMIT")
        thread.join()
        #expect(try outcome.withLock { $0 }?.get() != nil)
    }
}
