import BackupCore
import BackupRepository
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// What files hold: sizes before bytes, the same bytes for ever, and checksums that are those of the bytes.
struct ContentTests {
    private static let files = [
        "snapshots/first/export.json", "snapshots/first/database.sqlite", "snapshots/first/data/cars.json",
        "snapshots/first/archive.zip", "snapshots/first/archive.tar",
        "snapshots/first/SHA256SUMS", "snapshots/first/MD5SUMS", "snapshots/first/media/photo.jpg", "snapshots/first/media/empty",
        "exports/export_1000.json", "safety/safety_1500.zip", "live/export.json", "live/media/now.jpg", "README.txt",
        "status.json",
    ]

    @Test func `sizes are exact before a file is opened, however it is read`() throws {
        let tree = try TestTree().tree
        for path in Self.files {
            let size = try tree.find(path).size
            for pieceLength in [1, 100, 4096, 1 << 20] where pieceLength > 1 || size < 5000 {
                #expect(try tree.content(path, pieceLength: pieceLength).count == Int(size), "\(path)")
            }
        }
        #expect(try tree.content("snapshots/first/media/photo.jpg") == TestServices.photo)
        #expect(try tree.content("exports/export_1000.json") == Array("{\"name\": \"first\"}\n".utf8))
        #expect(try tree.content("snapshots/first/media/empty") == [])
    }

    @Test func `snapshots have the same bytes in every mount`() throws {
        let test = try TestTree()
        let other = try test.remounted()
        for path in Self.files where path.hasPrefix("snapshots") || path.hasPrefix("exports") || path.hasPrefix("safety") {
            #expect(try test.tree.content(path) == other.content(path), "\(path)")
        }
    }

    @Test func `checksums are those of the bytes`() throws {
        let tree = try TestTree().tree
        for path in Self.files where !["README.txt", "status.json"].contains(path) {
            let sums = ContentHasher.hash(try tree.content(path))
            #expect(try tree.attribute("user.checksum.sha256", path) == sums.sha256.hexadecimal, "\(path)")
            #expect(try tree.attribute("user.checksum.sha1", path) == sums.sha1.hexadecimal)
            #expect(try tree.attribute("user.checksum.md5", path) == sums.md5.hexadecimal)
            #expect(try tree.attribute("user.checksum.crc32", path) == sums.crc32Hexadecimal)
        }
        #expect(try tree.attribute("user.checksum.md5", "snapshots/first/media/empty") == "d41d8cd98f00b204e9800998ecf8427e")
    }

    @Test func `an archive can be unpacked, and its digests hold`() throws {
        let test = try TestTree()
        for (path, name) in [("snapshots/second/archive.zip", "a.zip"), ("safety/safety_1500.zip", "b.zip")] {
            let file = test.path + "/" + name
            try Data(test.tree.content(path)).write(to: URL(fileURLWithPath: file))
            let script =
                "cd $1 && rm -rf out && mkdir out && cd out && unzip -^ -qq ../$2 && sha256sum --quiet --strict -c SHA256SUMS && md5sum --quiet --strict -c MD5SUMS"
            #expect(try shell(script, test.path, name).status == 0)
        }
    }

    @Test func `the tar archive has the same files, whatever they are called`() throws {
        let test = try TestTree()
        let path = try test.tree.find("snapshots/second/archive.tar").inode
        try Data(test.tree.content("snapshots/second/archive.tar")).write(to: URL(fileURLWithPath: test.path + "/a.tar"))
        try Data(test.tree.content("snapshots/second/archive.zip")).write(to: URL(fileURLWithPath: test.path + "/a.zip"))
        let script = """
            set -e; cd $1; mkdir tar zip; tar -C tar -xpf a.tar; unzip -^ -qq a.zip -d zip; diff -r tar zip; cd tar
            sha256sum --quiet --strict -c SHA256SUMS; readlink media/link | grep -x photo.jpg; stat -c '%a %Y' media/sub | grep -x '755 2000'
            """
        #expect(try shell(script, test.path).status == 0)
        // The name is not a part of it.
        try test.tree.rename(
            "second", in: test.tree.find("snapshots").inode, to: "other", in: test.tree.find("snapshots").inode, mayReplace: false
        )
        #expect(try test.tree.find("snapshots/other/archive.tar").inode == path)
    }

    @Test func `the size of an archive is asked once, and only of an archive that is used`() throws {
        let test = try TestTree()
        func measured() -> [String] { test.services.state.withLock { $0.measuredSnapshots } }
        _ = try test.tree.names("snapshots")
        _ = try test.tree.find("snapshots/first/export.json")
        #expect(measured() == [])
        for _ in 0..<3 { _ = try test.tree.names("snapshots/first") }
        _ = try test.tree.find("snapshots/first/archive.tar")
        _ = try test.tree.content("snapshots/first/archive.tar")
        #expect(measured() == ["first tar", "first zip"])
    }

    @Test func `an archive without a known size hides no other file`() throws {
        let test = try TestTree()
        test.services.state.withLock { $0.sizeFailure = BackupError(.repositoryDamaged, "a folder is damaged") }
        #expect(try test.tree.names("snapshots/first").filter { $0.hasPrefix("a") } == ["archive.zip"])
        #expect(errorCode { _ = try test.tree.find("snapshots/first/archive.tar") } == .repositoryDamaged)
        #expect(try test.tree.content("snapshots/first/media/photo.jpg") == TestServices.photo)
        // What could not be told once can be told later.
        test.services.state.withLock { $0.sizeFailure = nil }
        #expect(try test.tree.names("snapshots/first").contains("archive.tar"))
    }

    @Test func `an open file stays what it is when the tree changes`() throws {
        let test = try TestTree()
        let tree = test.tree
        let live = try tree.openFile(tree.find("live/export.json").inode, flags: O_RDONLY, process: 1)
        let stored = try tree.openFile(tree.find("snapshots/first/media/photo.jpg").inode, flags: O_RDONLY, process: 1)
        test.services.state.withLock { $0.liveText = "something longer\n" }
        try tree.removeDirectory("first", in: tree.find("snapshots").inode)
        var buffer = [UInt8](repeating: 0, count: 5000)
        let liveCount = try buffer.withUnsafeMutableBytes { try tree.read(live.handle, at: 0, into: $0) }
        #expect(Array(buffer[..<liveCount]) == Array("live\n".utf8))
        #expect(try tree.attributes(of: tree.find("live/export.json").inode, handle: live.handle).size == 5)
        #expect(try tree.find("live/export.json").size == 17)
        let storedCount = try buffer.withUnsafeMutableBytes { try tree.read(stored.handle, at: 0, into: $0) }
        #expect(Array(buffer[..<storedCount]) == TestServices.photo)
        for file in [live, stored] {
            #expect(errorCode { try tree.write("x", to: file.handle) } == .readOnly)
            try tree.flush(file.handle, process: 1)
            try tree.synchronize(file.handle)
            tree.release(file.handle)
            #expect(errorCode { try tree.flush(file.handle, process: 1) } == .badHandle)
        }
    }

    @Test func `what the kernel may keep, and what it must ask for`() throws {
        let tree = try TestTree().tree
        let year = 31_536_000.0
        for (path, isImmutable, entry, attribute) in [
            ("snapshots/first/export.json", true, year, year), ("snapshots/first/archive.zip", true, year, year),
            ("snapshots/first/archive.tar", true, year, year),
            ("snapshots/first/media/sub", true, year, year),
            ("snapshots/first", true, 1, year), ("exports/export_1000.json", true, 0, year),
            ("safety/safety_1500.zip", true, 0, year),
            ("snapshots", false, year, 1), ("snapshots/latest", false, 0, 0), ("live/export.json", false, 0, 0),
            ("status.json", false, 0, 0), ("restore", false, year, 1),
        ] {
            let attributes = try tree.find(path)
            #expect(attributes.isImmutable == isImmutable, "\(path)")
            #expect(attributes.entryTimeoutSeconds == entry, "\(path)")
            #expect(attributes.attributeTimeoutSeconds == attribute, "\(path)")
            guard attributes.kind == .file else { continue }
            let file = try tree.openFile(attributes.inode, flags: O_RDONLY, process: 1)
            #expect(file.keepsCache == isImmutable)
            #expect(file.usesDirectIO == !isImmutable)
            tree.release(file.handle)
        }
    }

    @Test func `modes are the owner's, and everybody's only when they are invited`() throws {
        let test = try TestTree()
        let shared = VirtualTree(services: test.services, repository: test.repository, isSharedWithOthers: true)
        for (path, own, others) in [
            ("", 0o700, 0o755), ("snapshots/first", 0o700, 0o755), ("snapshots/first/export.json", 0o600, 0o644),
            ("README.txt", 0o600, 0o644),
            ("snapshots/first/media", 0o700, 0o755), ("snapshots/first/media/photo.jpg", 0o600, 0o644),
            ("snapshots/latest", 0o777, 0o777),
            ("live/export.json", 0o600, 0o644), ("live/media", 0o700, 0o755), ("snapshots/first/archive.zip", 0o600, 0o644),
        ] as [(String, UInt16, UInt16)] {
            #expect(try test.tree.find(path).permissions == own, "\(path)")
            #expect(try shared.find(path).permissions == others, "\(path)")
        }
        #expect(try test.tree.find("snapshots/first/media/photo.jpg").modificationTime == Timestamp(seconds: 1000))
        #expect(try test.tree.find("snapshots").modificationTime == Timestamp(seconds: 2000))
        #expect(try test.tree.readLink(test.tree.find("snapshots/first/media/link").inode) == Array("photo.jpg".utf8))
        #expect(try test.tree.find("snapshots/first/media/link").size == 9)
        #expect(try test.tree.readLink(test.tree.find("live/media/link").inode) == Array("now.jpg".utf8))
        #expect(try test.tree.space().blockCount > 0)
    }
}
