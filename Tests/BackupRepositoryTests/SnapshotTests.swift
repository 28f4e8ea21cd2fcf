import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct SnapshotTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    private func back(up name: FileName, kind: SnapshotKind = .snapshot, seconds: Int64 = 1000) throws -> Snapshot {
        try repository.makeWriter().commit(named: name, files: [("x", [1], .media)], kind: kind, seconds: seconds)
    }

    @Test func theyAreSortedByTimeAndThenByName() throws {
        for (name, seconds): (FileName, Int64) in [("c", 5), ("b", 9), ("a", 9), ("d", 1)] {
            _ = try back(up: name, kind: name == "b" ? .safety : .snapshot, seconds: seconds)
        }
        #expect(repository.snapshots().map(\.name) == ["d", "c", "a", "b"])
        #expect(repository.snapshots(kind: .snapshot).map(\.name) == ["d", "c", "a"])
        #expect(repository.snapshots(kind: .safety).map(\.name) == ["b"])
    }

    @Test func theRecordComesBack() throws {
        let writer = try repository.makeWriter()
        let parent = SnapshotID(SHA256Hasher.hash([7]))
        let record = SnapshotRecord(
            kind: .safety, name: "vor dem Ümzug", creationTime: Timestamp(seconds: -5, nanoseconds: 999_999_999), parent: parent,
            root: try writer.store([TreeEntry]()), archiveSizeBytes: 1 << 40, archiveLayout: ["media/": "photos/"],
            attributes: ["app": "ev", "": "empty key", "device": "Ω\u{0}"])
        let snapshot = try writer.commit(record)
        let found = try #require(try Repository.open(at: folder("repository")).snapshot(id: snapshot.id))
        #expect(found.record == record && found == snapshot)
        #expect(!found.isPinned && found.verifiedAt == nil)
    }

    @Test func `a snapshot whose name is taken is made under the next free one`() throws {
        #expect(try back(up: "a").name == "a")
        var names: [FileName] = []
        let writer = try repository.makeWriter()
        let record = SnapshotRecord(
            kind: .snapshot, name: "a", creationTime: Timestamp(seconds: 1), parent: nil, root: try writer.store([TreeEntry]()),
            archiveSizeBytes: 0, archiveLayout: [:], attributes: [:])
        let second = try writer.commit(record) {
            names.append($0)
            return true
        }
        #expect(second.name == "a_2" && names == ["a_2"])
        #expect(second.isPinned)
        #expect(try Repository.open(at: folder("repository")).snapshot(id: second.id)?.isPinned == true)
        #expect(try back(up: "a").name == "a_3" && back(up: "v1.2").name == "v1.2" && back(up: "v1.2").name == "v1.2_2")
        // Names that are as long as a name can be.
        let long = FileName(String(repeating: "ä", count: 127) + "x")
        #expect(try back(up: long).name == long)
        #expect(try back(up: long).name.description == String(repeating: "ä", count: 126) + "_2")
        #expect(try Repository.open(at: folder("repository")).snapshot(id: second.id)?.name == "a_2")
    }

    @Test func namesAreUnique() throws {
        let first = try back(up: "a")
        let second = try back(up: "b")
        #expect(errorCode { try repository.renameSnapshot(second.id, to: "a") } == .alreadyExists)
        try repository.renameSnapshot(first.id, to: "c")
        #expect(repository.snapshot(named: "a") == nil && repository.snapshot(named: "c")?.id == first.id)
        // The name is free now, and a snapshot of the same data, name and time is still another one.
        let third = try back(up: "a")
        #expect(third.id != first.id)
        #expect(errorCode { try repository.renameSnapshot(first.id, to: "a") } == .alreadyExists)
        for name: FileName in ["", ".", "..", "a/b"] {
            #expect(errorCode { try repository.renameSnapshot(first.id, to: name) } == .invalidArgument)
            #expect(errorCode { _ = try back(up: name) } == .invalidArgument)
        }
        #expect(repository.snapshots().map(\.name) == ["a", "b", "c"])
    }

    @Test func labelsSurviveAndGoWithTheSnapshot() throws {
        let snapshot = try back(up: "a")
        try repository.setPinned(snapshot.id, true)
        try repository.setVerified(snapshot.id, at: Timestamp(seconds: 77, nanoseconds: 5))
        try repository.renameSnapshot(snapshot.id, to: "renamed")
        let found = try #require(try Repository.open(at: folder("repository")).snapshot(named: "renamed"))
        #expect(found.isPinned && found.verifiedAt == Timestamp(seconds: 77, nanoseconds: 5))
        #expect(found.record.name == "a" && found.id == snapshot.id)
        try repository.setPinned(snapshot.id, false)
        #expect(repository.snapshot(named: "renamed")?.isPinned == false)
        try repository.removeSnapshot(snapshot.id)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("repository/labels")).isEmpty)
        #expect(errorCode { try repository.removeSnapshot(snapshot.id) } == .notFound)
        #expect(errorCode { try repository.setPinned(snapshot.id, true) } == .notFound)
        #expect(errorCode { try repository.renameSnapshot(snapshot.id, to: "x") } == .notFound)
    }

    /// Another process is another instance: what it does shows at the next look.
    @Test func changesOfOthersAreNoticed() throws {
        let other = try Repository.open(at: folder("repository"))
        #expect(other.snapshots().isEmpty)
        let first = try back(up: "a")
        #expect(try other.refresh())
        #expect(other.snapshots().map(\.name) == ["a"])
        #expect(try other.file("x", in: "a") == [1])
        // Quick changes one after the other, within one step of the file system's clock.
        for index in 0..<20 {
            try repository.renameSnapshot(first.id, to: FileName("name-\(index)"))
            try other.refresh()
            #expect(other.snapshots().map(\.name) == [FileName("name-\(index)")])
        }
        try repository.removeSnapshot(first.id)
        #expect(try other.refresh())
        #expect(other.snapshots().isEmpty)
        #expect(try !other.refresh())
    }

    @Test func twoSnapshotsOfOneNameAreBothSeen() throws {
        let first = try back(up: "a", seconds: 1)
        let second = try back(up: "b", seconds: 2)
        // As if two hosts had named them without knowing of each other.
        let label = SnapshotLabel(name: "a", isPinned: false, verifiedAt: nil).encode(for: second.id)
        try writeFile(repository.layout.labelPath(of: second.id), label)
        let opened = try Repository.open(at: folder("repository"))
        #expect(opened.snapshots().map(\.id) == [first.id, second.id])
        #expect(opened.snapshot(named: "a")?.id == first.id)
        #expect(opened.snapshot(named: FileName("a~\(second.id.hexadecimal.prefix(8))"))?.id == second.id)
    }

    @Test func onlyOneWriterAtATime() throws {
        let writer = try repository.makeWriter()
        #expect(errorCode { _ = try repository.makeWriter() } == .busy)
        let other = try Repository.open(at: folder("repository"))
        #expect(errorCode { _ = try other.makeWriter() } == .busy)
        writer.abandon()
        let next = try other.makeWriter()
        #expect(errorCode { _ = try writer.commit(named: "a", entries: []) } == .invalidArgument)
        next.abandon()
    }

    @Test func anAbandonedBackupLeavesNothing() throws {
        _ = try back(up: "a")
        let before = try run(["find", ".", "-type", "f", "-not", "-name", "catalog.sqlite*"], in: folder("repository")).bytes
        do {
            let writer = try repository.makeWriter(packSizeBytes: 100_000)
            _ = try writer.store(TestData.random(1_000_000, seed: 1), policy: .database(pageSizeBytes: 4096))
            #expect(try repository.packs().count > 5)
        }
        let after = try run(["find", ".", "-type", "f", "-not", "-name", "catalog.sqlite*"], in: folder("repository")).bytes
        #expect(after == before)
        #expect(try repository.totals().packCount == 1)
        // It was let go: the next one can be made, and stores all of it.
        let writer = try repository.makeWriter()
        _ = try writer.store(TestData.random(1_000_000, seed: 1), policy: .media)
        #expect(writer.storedByteCount == 1_000_000)
    }

    @Test func leftoversAreSwept() throws {
        let snapshot = try back(up: "a")
        try writeFile(folder("repository/tmp/\(String(repeating: "01", count: 16)).pack"), [1, 2, 3])
        let gone = SnapshotID(SHA256Hasher.hash([1]))
        try writeFile(repository.layout.labelPath(of: gone), [1])
        try repository.setPinned(snapshot.id, true)
        let writer = try repository.makeWriter()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp")).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: repository.layout.labelPath(of: gone)))
        #expect(FileManager.default.fileExists(atPath: repository.layout.labelPath(of: snapshot.id)))
        writer.abandon()
    }

    @Test func tagsAreKeptWithTheLabel() throws {
        let writer = try repository.makeWriter()
        let root = try writer.store([TreeEntry]())
        let made = try writer.commit(
            SnapshotRecord(
                kind: .snapshot, name: "a", creationTime: Timestamp(seconds: 1), parent: nil, root: root, archiveSizeBytes: 0,
                archiveLayout: [:], attributes: ["tag": "first"]))
        #expect(made.tags == ["first"])
        func now() throws -> Snapshot {
            try #require(try Repository.open(at: folder("repository")).snapshot(id: made.id))
        }
        // Other changes leave the tag where it was.
        try repository.setPinned(made.id, true)
        #expect(try now().tags == ["first"])
        try repository.changeTags(made.id) { $0.formUnion(["zoo", "Ärger", "first"]) }
        #expect(try now().tags == ["first", "zoo", "Ärger"])
        #expect(try now().publicAttributes["tag"] == "first,zoo,Ärger")
        try repository.renameSnapshot(made.id, to: "b")
        try repository.setVerified(made.id, at: Timestamp(seconds: 9))
        #expect(try now().tags == ["first", "zoo", "Ärger"] && now().isPinned && now().name == "b")
        try repository.changeTags(made.id) { $0.removeAll() }
        #expect(try now().tags == [] && now().publicAttributes["tag"] == nil && now().record.attributes["tag"] == "first")
        for tag in ["", "a,b", "a\nb", String(repeating: "x", count: 256)] {
            #expect(errorCode { try repository.changeTags(made.id) { $0.insert(tag) } } == .invalidArgument, "\(tag)")
        }
        #expect(errorCode { try repository.changeTags(made.id) { $0.formUnion((0..<65).map(String.init)) } } == .invalidArgument)
        try repository.changeTags(made.id) {
            $0.formUnion((0..<64).map { _ in RandomToken.make() + String(repeating: "x", count: 223) })
        }
        #expect(try now().tags.count == 64 && repository.damages().isEmpty)
    }
}
