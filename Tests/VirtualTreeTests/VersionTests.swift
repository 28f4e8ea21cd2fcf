import BackupCore
import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// `versions/`: the different contents of each file over all backups.
struct VersionTests {
    private typealias Media = TestServices.Media

    private static func stamp(_ seconds: Int64) -> String { SystemClock.localStamp(Timestamp(seconds: seconds)) }

    @Test func `each content is there once, under the time of the oldest backup that has it`() throws {
        let test = try TestTree(snapshots: false)
        let contents = ["one", "one", "two", "one", "three"]
        for (index, text) in contents.enumerated() {
            try test.services.make(
                FileName("b\(index)"), seconds: Int64(1_000 + index * 10),
                ownMedia: ["IMG_1.jpg": .file(Array(text.utf8)), "other": .file([UInt8(index)])])
        }
        try test.repository.refresh()
        #expect(try test.tree.names("versions") == ["data", "media"])
        #expect(try test.tree.names("versions/media") == ["IMG_1.jpg", "other"])
        let names = [1_000, 1_020, 1_040].map { Self.stamp($0) + ".jpg" }
        #expect(try test.tree.names("versions/media/IMG_1.jpg") == names)
        for (name, text) in zip(names, ["one", "two", "three"]) {
            let path = "versions/media/IMG_1.jpg/\(name)"
            #expect(try test.tree.content(path) == Array(text.utf8))
            #expect(try test.tree.find(path).size == UInt64(text.utf8.count))
        }
        #expect(try test.tree.attribute("user.backupfs.backup", "versions/media/IMG_1.jpg/\(names[1])") == "b2")
        #expect(
            try test.tree.attribute("user.checksum.sha256", "versions/media/IMG_1.jpg/\(names[1])")
                == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3")
        #expect(try test.tree.names("versions/media/other").count == contents.count)
        #expect(try test.tree.names("versions/data/cars.json") == [Self.stamp(1_000) + ".json"])
        #expect(errorCode { _ = try test.tree.find("versions/media/none") } == .notFound)
        #expect(errorCode { _ = try test.tree.find("versions/export.json") } == .notFound)
        #expect(errorCode { _ = try test.tree.find("versions/media/IMG_1.jpg/none") } == .notFound)
    }

    @Test func `what was a file and a folder is both, and no name is there twice`() throws {
        let test = try TestTree(snapshots: false)
        let stamp = FileName(Self.stamp(1_000))
        try test.services.make("a", seconds: 1_000, ownMedia: ["x": .file([1])])
        // The folder has a file with the name that the first version would have.
        try test.services.make("b", seconds: 1_010, ownMedia: ["x": .folder([stamp: .file([2]), "in": .file([3])])])
        try test.repository.refresh()
        #expect(try test.tree.names("versions/media/x") == [stamp.description, "in", "\(stamp)_2"])
        #expect(try test.tree.content("versions/media/x/\(stamp)_2") == [1])
        #expect(try test.tree.names("versions/media/x/\(stamp)") == [Self.stamp(1_010)])
        #expect(try test.tree.content("versions/media/x/\(stamp)/\(Self.stamp(1_010))") == [2])
    }

    @Test func `versions come and go with their backups`() throws {
        let test = try TestTree(snapshots: false)
        #expect(try test.tree.names("versions") == [])
        #expect(errorCode { _ = try test.tree.find("versions/media") } == .notFound)
        try test.services.make("a", seconds: 1_000, ownMedia: ["x": .file([1])])
        try test.services.make("b", seconds: 1_010, ownMedia: ["x": .file([2])])
        try test.repository.refresh()
        let kept = try test.tree.find("versions/media/x/\(Self.stamp(1_000))")
        #expect(kept.entryTimeoutSeconds <= 1)
        #expect(try test.tree.names("versions/media/x").count == 2)
        try test.repository.removeSnapshot(try #require(test.repository.snapshot(named: "a")).id)
        #expect(try test.tree.names("versions/media/x") == [Self.stamp(1_010)])
        #expect(errorCode { _ = try test.tree.find("versions/media/x/\(Self.stamp(1_000))") } == .notFound)
        // The same content again, in a later backup alone.
        try test.services.make("c", seconds: 1_020, ownMedia: ["x": .file([1])])
        try test.repository.refresh()
        #expect(try test.tree.names("versions/media/x") == [Self.stamp(1_010), Self.stamp(1_020)])
        // A safety backup is in safety/.
        try test.services.make("~s", kind: .safety, seconds: 1_030, ownMedia: ["x": .file([9])])
        try test.repository.refresh()
        #expect(try test.tree.names("versions/media/x").count == 2)
    }

    /// The kernel keeps the bytes of a number.
    @Test func `a name that comes to mean another content has another number`() throws {
        let test = try TestTree(snapshots: false)
        let path = "versions/media/x/\(Self.stamp(1_000))"
        var numbers: Set<UInt64> = []
        for content in [1, 2, 3] as [UInt8] {
            let id = try test.services.make("a", seconds: 1_000, ownMedia: ["x": .file([content])])
            try test.repository.refresh()
            #expect(try test.tree.content(path) == [content])
            numbers.insert(try test.tree.find(path).inode.rawValue)
            try test.repository.removeSnapshot(id)
        }
        #expect(numbers.count == 3)
    }

    @Test func `nothing can be changed`() throws {
        let test = try TestTree()
        let folder = try test.tree.find("versions/media")
        #expect(errorCode { _ = try test.tree.makeDirectory("x", in: folder.inode) } == .readOnly)
        #expect(errorCode { try test.tree.removeDirectory("photo.jpg", in: folder.inode) } == .readOnly)
        let photo = try test.tree.find("versions/media/photo.jpg")
        let name = FileName("\(Self.stamp(1_000)).jpg")
        #expect(try test.tree.lookUp(name, in: photo.inode).size == UInt64(TestServices.photo.count))
        #expect(errorCode { try test.tree.removeFile(name, in: photo.inode) } == .readOnly)
    }

    /// Compares with all contents of all backups, for trees in which files and folders come, change, become each other and go.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `generated backups have the versions that they should`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let test = try TestTree(snapshots: false)
        func media(_ depth: Int) -> Media {
            guard depth < 3, Int.random(in: 0..<3, using: &random) > 0 || depth == 0 else {
                return .file([UInt8](repeating: UInt8.random(in: 0..<3, using: &random), count: 3))
            }
            var children: [FileName: Media] = [:]
            for name in ["a", "b.jpg", "c"] as [FileName] where Bool.random(using: &random) { children[name] = media(depth + 1) }
            return .folder(children)
        }
        var versions: [String: [(stamp: String, bytes: [UInt8])]] = [:]
        var folders: Set<String> = []
        func note(_ media: Media, _ path: String, _ stamp: String) {
            switch media {
            case .file(let bytes):
                if versions[path]?.contains(where: { $0.bytes == bytes }) != true {
                    versions[path, default: []].append((stamp, bytes))
                }
            case .folder(let children):
                folders.insert(path)
                for (name, child) in children { note(child, "\(path)/\(name)", stamp) }
            }
        }
        for index in 0..<8 {
            let seconds = Int64(1_000 + index)
            guard case .folder(let children) = media(0) else { continue }
            try test.services.make(FileName("b\(index)"), seconds: seconds, ownMedia: children)
            note(.folder(children), "media", Self.stamp(seconds))
            // Asked between the backups as well: what is remembered must not be outdated.
            try test.repository.refresh()
            _ = try test.tree.names("versions/media")
        }
        for path in folders.union(versions.keys).sorted() {
            let below = (Array(folders) + Array(versions.keys)).filter { $0.hasPrefix("\(path)/") }
            let inside = Set(below.map { String($0.dropFirst(path.utf8.count + 1).prefix { $0 != "/" }) })
            let ending = path.hasSuffix(".jpg") ? ".jpg" : ""
            let own = (versions[path] ?? []).map { $0.stamp + ending }
            #expect(try test.tree.names("versions/\(path)") == inside.sorted() + own, "\(path)")
            for version in versions[path] ?? [] {
                #expect(try test.tree.content("versions/\(path)/\(version.stamp)\(ending)") == version.bytes, "\(path)")
            }
        }
        #expect(!versions.isEmpty)
    }
}
