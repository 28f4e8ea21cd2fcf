import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Backups are removed from a mirror while others are uploaded to it: what is kept stays whole, whatever happens.
@Suite(.rotating(oneIn: 3)) struct ManagedMirrorTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func make(_ names: [FileName] = ["one", "two", "three"]) throws -> Repository {
        let repository = try Repository.create(at: folder("original-\(RandomToken.make())"))
        for (number, name) in names.enumerated() {
            try RecordedHistory.backUp(name, in: repository, seconds: Int64(1_000 + number))
        }
        return repository
    }

    /// A machine that uploads, with a cache of its own.
    private struct Machine {
        let original: Repository
        let storage: any ObjectStorage
        let cache: String

        func openCopy() throws(BackupError) -> Repository {
            let remote = try RemoteRepository(in: storage, cacheFolder: cache, writingTo: storage)
            try remote.refresh()
            return try remote.open(sharingKeysOf: original, catalogHome: .folder(cache + "/catalogs"))
        }

        /// - Parameter names: of what belongs into the mirror; `nil` for all.
        @discardableResult
        func upload(_ names: Set<FileName>?, isThorough: Bool = false) throws(BackupError) -> RepositoryMirror.Summary {
            var state = MirrorState()
            let chosen = Set(original.snapshots().filter { names?.contains($0.name) != false }.map(\.id))
            let selection = MirrorSelection(isPartial: names != nil, isThorough: isThorough, openCopy: openCopy) { _ in chosen }
            return try RepositoryMirror(of: original, in: storage).update(&state, selecting: selection)
        }

        func remove(_ names: Set<FileName>) throws(BackupError) {
            let copy = try openCopy()
            // A record that cannot be read is not listed, and without the register all may be pinned.
            if let damage = copy.listDamages.first ?? copy.registerError { throw damage }
            let going = copy.snapshots().filter { names.contains($0.name) }.map(\.id)
            try copy.withdrawSnapshots(going, at: SystemClock.now())
        }

        /// Removed backups are given up at once.
        @discardableResult
        func prune() throws(BackupError) -> PruneSummary {
            let grace = RemovalGrace(now: SystemClock.now()) { _ in .min }
            return try RepositoryPrune(openCopy(), maxUnused: .bytes(0), grace: grace).run()
        }
    }

    private func machine(_ original: Repository, _ storage: (any ObjectStorage)? = nil) -> Machine {
        Machine(
            original: original, storage: storage ?? SimulatedStorage(server), cache: folder("cache-\(RandomToken.make())"))
    }

    private func objects(_ prefix: String) throws -> Set<String> {
        Set(try SimulatedStorage(server).list(prefix: prefix, after: nil).objects.map(\.name.text))
    }

    /// What a machine that knows nothing finds; `nil` if all is well.
    private func flaw(_ names: Set<FileName>) throws -> String? { try flaw(server, names) }

    private func flaw(_ server: SimulatedServer, _ names: Set<FileName>) throws -> String? {
        let stored = try StoredRepository.open(on: server, folder("reader-\(RandomToken.make())"))
        return try stored.flaw(Dictionary(uniqueKeysWithValues: names.map { ($0, $0) }))
    }

    @Test func `only what belongs there is uploaded, with the packs that it needs`() throws {
        let original = try make(["one", "next"])
        let machine = machine(original)
        let summary = try machine.upload(["one"])
        #expect(summary.addedSnapshotCount == 1 && summary.snapshotCount == 1 && summary.waitingSnapshotCount == 0)
        #expect(try flaw(["one"]) == nil)
        let count = try objects("packs/").count
        #expect(try count > 0 && count < original.packs().count)
        #expect(try objects("locks/") == [])
        // Nothing new: nothing is stored.
        #expect(try machine.upload(["one"]).uploadedBytes == 0)
        #expect(try machine.upload(["one", "next"]).addedSnapshotCount == 1)
        #expect(try flaw(["one", "next"]) == nil)
    }

    @Test func `folders are walked through once, and again when packs have changed`() throws {
        let original = try make(["one", "next", "three"])
        let machine = machine(original)
        #expect(try machine.upload(["one", "next"]).walkCount == 1)
        #expect(try machine.upload(["one", "next"]).walkCount == 0)
        // A prune here, in the middle of an upload, gives the chunks other packs.
        try original.removeSnapshot(#require(original.snapshot(named: "next")).id)
        let wasCalled = Flag()
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text == "config" || name.text.hasPrefix("locks/"), wasCalled.set() else { return }
            _ = try RepositoryPrune(original, maxUnused: .bytes(0)).run()
        }
        let summary = try self.machine(original, storage).upload(["one", "three"])
        #expect(wasCalled.isSet && summary.walkCount == 2 && summary.unreadable.isEmpty, "\(summary)")
        #expect(try flaw(["one", "next", "three"]) == nil)
    }

    @Test func `a backup whose pack is gone here is not uploaded, and the others are`() throws {
        let original = try make(["one", "next"])
        // Only `next` has it.
        let before = try Set(original.packs())
        try original.makeWriter().commit(
            named: "lost", files: [("new", TestData.random(50_000, seed: 99), .media)], seconds: 3_000)
        for pack in try original.packs() where !before.contains(pack) {
            try FileManager.default.removeItem(atPath: original.layout.packPath(of: pack))
        }
        let reopened = try Repository.open(at: original.path)
        for names in [nil, ["one", "next", "lost"] as Set<FileName>] {
            let summary = try machine(reopened).upload(names)
            #expect(summary.unreadable.map(\.code) == [.repositoryDamaged], "\(summary)")
            #expect(summary.unreadable.first?.message.contains("the backup “lost”") == true)
            #expect(try flaw(["one", "next"]) == nil)
        }
    }

    /// A share that drops a file for a moment, between two looks of one update.
    @Test(arguments: ["locks/", "config"]) func `no record is stored without data that was gone for a moment`(
        moment: String
    ) throws {
        let original = try make(["one"])
        if moment == "locks/" { try machine(original).upload(["one"]) }
        let before = try Set(original.packs())
        try RecordedHistory.backUp("next", in: original, seconds: 2_000)
        let new = try original.packs().filter { !before.contains($0) }.map { original.layout.packPath(of: $0) }
        let largest = try #require(new.max { try FileSystem.status($0).size < FileSystem.status($1).size })
        let aside = folder("aside")
        let (isGone, isBack) = (Flag(), Flag())
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            if name.text.hasPrefix(moment), isGone.set() { try FileSystem.rename(largest, to: aside) }
            if name.text.hasPrefix("packs/"), isBack.set() { try FileSystem.rename(aside, to: largest) }
        }
        for _ in 0..<2 {
            let summary = try self.machine(original, storage).upload(["one", "next"])
            #expect(try summary.snapshotCount == 2 || objects("snapshots/").count == 1)
            let names: Set<FileName> = summary.snapshotCount == 2 ? ["one", "next"] : ["one"]
            #expect(try flaw(names) == nil)
        }
        #expect(isGone.isSet && isBack.isSet)
        #expect(try flaw(["one", "next"]) == nil)
    }

    @Test func `what is removed goes in two steps, and does not come back`() throws {
        let original = try make(["one", "next"])
        let machine = machine(original)
        try machine.upload(["one", "next"])
        let all = try objects("packs/")
        try machine.remove(["one"])
        #expect(try objects("removed/").count == 1)
        #expect(try flaw(["next"]) == nil)
        let first = try machine.prune()
        #expect(first.waitingPackCount > 0 && first.removedPackCount == 0)
        #expect(try objects("packs/").isSuperset(of: all) && objects("doomed/").count == 1)
        #expect(try machine.openCopy().isPruneDue(RemovalGrace(now: SystemClock.now())))
        server.advance(seconds: 86_401)
        let second = try machine.prune()
        #expect(second.removedPackCount == first.waitingPackCount && second.rewrittenPackCount == 0)
        let rest = try objects("packs/")
        #expect(rest.count == all.count + first.newPackCount - second.removedPackCount)
        #expect(try objects("doomed/") == [] && objects("removed/") == [])
        // The repository here still has these packs.
        #expect(try machine.upload(["next"]).uploadedBytes == 0)
        #expect(try objects("packs/") == rest)
        #expect(try flaw(["next"]) == nil)
        // A rule that keeps more.
        #expect(try machine.upload(["one", "next"]).addedSnapshotCount == 1)
        #expect(try flaw(["one", "next"]) == nil)
    }

    @Test func `an upload does not rely on packs that are about to go`() throws {
        let original = try make(["one", "next"])
        let machine = machine(original)
        try machine.upload(["one", "next"])
        try machine.remove(["one"])
        try machine.prune()
        // A machine without rules.
        let summary = try machine.upload(nil)
        #expect(summary.waitingSnapshotCount == 1 && summary.addedSnapshotCount == 0)
        #expect(try flaw(["next"]) == nil)
        server.advance(seconds: 86_401)
        #expect(try machine.prune().removedPackCount > 0)
        #expect(try machine.upload(nil).waitingSnapshotCount == 0)
        #expect(try flaw(["one", "next"]) == nil)
    }

    /// The other machine dooms the packs after this one has seen them.
    @Test func `a removal in the middle of an upload is noticed`() throws {
        let original = try make(["one", "next"])
        let other = machine(original)
        try other.upload(["one", "next"])
        // It needs what only `one` needed, and a few bytes more.
        let writer = try original.makeWriter(packSizeBytes: 24_000)
        var entries: [TreeEntry] = []
        for file in try #require(RecordedHistory.contents["one"]) {
            let content = try writer.store(file.bytes, policy: file.policy)
            entries.append(
                .file(name: file.name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content))
        }
        try writer.commit(named: "again", entries: entries, seconds: 1_900)
        let wasCalled = Flag()
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text.hasPrefix("packs/"), wasCalled.set() else { return }
            try other.remove(["one"])
            try other.prune()
        }
        let summary = try machine(original, storage).upload(nil)
        #expect(wasCalled.isSet)
        // The other one does not need what only `one` needs.
        #expect(summary.waitingSnapshotCount == 1, "\(summary)")
        var waiting = 1
        for _ in 0..<3 where waiting > 0 {
            server.advance(seconds: 86_401)
            try other.prune()
            waiting = try machine(original).upload(nil).waitingSnapshotCount
        }
        #expect(waiting == 0)
        for _ in 0..<2 {
            server.advance(seconds: 86_401)
            try other.prune()
        }
        let reader = try StoredRepository.open(on: server, folder("reader"))
        #expect(reader.names == ["one", "next", "again"])
        #expect(try RepositoryCheckResult.isSound(reader.repository))
    }

    @Test func `a machine that uploads keeps a prune of another one away`() throws {
        let original = try make(["one", "next"])
        let other = machine(original)
        try other.upload(["one"])
        try other.remove(["one"])
        let refused = Codes()
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            guard name.text.hasPrefix("packs/") else { return }
            do throws(BackupError) { try other.prune() } catch { refused.add(error.code) }
        }
        try machine(original, storage).upload(["next"])
        #expect(refused.all.contains(.busy) && Set(refused.all) == [.busy])
        #expect(try flaw(["next"]) == nil)
    }

    @Test func `a place in which machines make backups is no copy`() throws {
        let stored = try StoredRepository.create(on: server, folder("primary"))
        try stored.backUp("one")
        let copy = try Repository.create(at: folder("other"))
        let machine = machine(copy)
        #expect(errorCode { try machine.upload(["one"]) } == .notPermitted)
        #expect(stored.repository.isPrimary)
        #expect(try !make(["one"]).isPrimary)
    }

    /// An update that does not know how to go about removals, as in older programs.
    @Test func `without a selection, a copy from which backups are removed is refused`() throws {
        let original = try make(["one", "next"])
        let machine = machine(original)
        try machine.upload(nil)
        try machine.remove(["one"])
        var state = MirrorState()
        #expect(
            errorCode { _ = try RepositoryMirror(of: original, in: machine.storage).update(&state) } == .notSupported)
        #expect(try flaw(["next"]) == nil)
    }

    @Test func `a key that may not delete uploads all the same`() throws {
        let original = try make(["one", "next"])
        var storage = HookedStorage(storage: SimulatedStorage(server)) { (_) throws(BackupError) in }
        storage.deniesRemoval = true
        let machine = machine(original, storage)
        try machine.upload(["one"])
        #expect(errorCode { try machine.remove(["one"]) } == .accessDenied)
        #expect(try flaw(["one"]) == nil)
        try machine.upload(["next"])
        #expect(try flaw(["one", "next"]) == nil)
        #expect(errorCode { try machine.prune() } == .accessDenied)
        #expect(try flaw(["one", "next"]) == nil)
        // A machine with another key goes on.
        let other = self.machine(original)
        try other.remove(["one"])
        #expect(try other.prune().waitingPackCount > 0)
        #expect(try flaw(["next"]) == nil)
    }

    // MARK: Faults

    private static let faults: [SimulatedFault] = [
        .lostRequest, .lostAnswer, .late(requestCount: 3), .duplicate, .denied, .serverError, .truncated, .wrongBytes,
        .killed(hasEffect: false), .killed(hasEffect: true),
    ]

    private enum Step: String, CaseIterable { case upload, removal, prune, secondPrune }

    /// `three` and `one` are in the mirror; `one` is removed there before a prune.
    private func prepare(_ server: SimulatedServer, _ original: Repository, for step: Step) throws {
        let machine = machine(original, SimulatedStorage(server))
        try machine.upload(["one", "three"])
        guard step == .prune || step == .secondPrune else { return }
        try machine.upload(["one", "three", "next"])
        try machine.remove(["next"])
        guard step == .secondPrune else { return }
        #expect(try machine.prune().waitingPackCount > 0)
        server.advance(seconds: 86_401)
    }

    private func perform(_ step: Step, _ machine: Machine) throws(BackupError) {
        switch step {
        case .upload: try machine.upload(["one", "three", "two"])
        case .removal: try machine.remove(["one"])
        case .prune, .secondPrune: try machine.prune()
        }
    }

    private func expected(_ step: Step, isDone: Bool) -> Set<FileName> {
        switch step {
        case .upload: isDone ? ["one", "three", "two"] : ["one", "three"]
        case .removal: isDone ? ["three"] : ["one", "three"]
        case .prune, .secondPrune: ["one", "three"]
        }
    }

    @Test(arguments: Step.allCases) private func `each request fails in each way`(step: Step) throws {
        let original = try make(["one", "three", "two", "next"])
        let counting = SimulatedServer()
        try prepare(counting, original, for: step)
        let counter = SimulatedStorage(counting)
        try perform(step, machine(original, counter))
        let count = counter.requestCount
        #expect(count >= 5)
        var cases: [(Int, SimulatedFault)] = []
        for number in 1...count { cases += Self.faults.map { (number, $0) } }
        for (number, fault) in Rounds.part(of: cases, oneIn: 24) {
            let comment: Comment = "request \(number) of \(count): \(fault)"
            let server = SimulatedServer()
            try prepare(server, original, for: step)
            var network = SimulatedNetwork.good
            network.scheduled = [number: fault]
            let failed = failure { try perform(step, machine(original, SimulatedStorage(server, network))) }
            // What is late arrives.
            for _ in 0..<4 { _ = try SimulatedStorage(server).list(prefix: "config", after: nil) }
            let (undone, done) = (expected(step, isDone: false), expected(step, isDone: true))
            let names = try StoredRepository.open(on: server, folder("names-\(RandomToken.make())")).names
            if failed == nil { #expect(names == done, comment) }
            #expect(names == done || names == undone, comment)
            let found = try flaw(server, names)
            #expect(found == nil, "\(step), request \(number): \(fault): \(found ?? "")")
            // The lock of a program that is gone stops no other one for long.
            server.advance(seconds: 700)
            try perform(step, machine(original, SimulatedStorage(server)))
            #expect(try flaw(server, done) == nil, comment)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder("")) where !name.hasPrefix("original") {
                try? FileManager.default.removeItem(atPath: folder(name))
            }
        }
    }

    /// Two machines with the same backups upload, remove and prune at the same time, while a day passes after each prune.
    @Test func `uploads, removals and prunes at the same time lose nothing that is kept`() throws {
        let original = try make(["one", "three", "two", "next"])
        try machine(original).upload(["one"])
        let server = server
        let codes = Codes()
        let pruning = machine(original)
        let threads = try (0..<3).map { number in
            let machine = machine(original)
            return try SystemThread {
                for round in 0..<6 {
                    do throws(BackupError) {
                        switch number {
                        case 0: try machine.upload(round % 2 == 0 ? ["one", "three"] : ["one", "two", "next"])
                        case 1: try machine.remove(round % 2 == 0 ? ["three"] : ["two", "next"])
                        default:
                            try pruning.prune()
                            server.advance(seconds: 86_401)
                        }
                    } catch {
                        codes.add(error.code)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(Set(codes.all).isSubset(of: [.busy, .conflict, .locked, .notFound]), "\(codes.all)")
        let names = try StoredRepository.open(on: server, folder("names")).names
        #expect(names.contains("one"))
        #expect(try flaw(names) == nil)
        server.advance(seconds: 90_000)
        try machine(original).upload(["one", "two", "three", "next"])
        try pruning.prune()
        server.advance(seconds: 90_000)
        try pruning.prune()
        try machine(original).upload(["one", "two", "three", "next"])
        #expect(try flaw(["one", "two", "three", "next"]) == nil)
    }
}

/// What a check says.
enum RepositoryCheckResult {
    static func isSound(_ repository: Repository) throws -> Bool {
        var check = RepositoryCheck(repository, readData: .all) { _ in }
        return try check.run().isSound
    }
}

/// Is set once.
final class Flag: Sendable {
    private let state = Mutex(false)

    /// - Returns: whether it was not set before: true for one of several threads.
    func set() -> Bool {
        state.withLock { isSet in
            defer { isSet = true }
            return !isSet
        }
    }
    var isSet: Bool { state.withLock { $0 } }
}

/// Codes of errors, from several threads.
final class Codes: Sendable {
    private let list = LockedArray<BackupError.Code>()

    func add(_ code: BackupError.Code) { list.append(code) }

    var all: [BackupError.Code] { list.values }
}
