import BackupCore
import Foundation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// `live/`: one consistent state while nothing changes, and the newest one as soon as something does.
struct LiveTests {
    /// All bytes of a live file.
    private static func bytes(_ store: Store, _ view: any LiveView, _ path: FileName...) throws -> [UInt8] {
        let entry = try #require(try view.entry(at: path), "\(path)")
        let table = try entry.content.table()
        #expect(table.size == entry.size, "\(path)")
        var bytes = [UInt8](repeating: 0, count: Int(table.size))
        let count = try bytes.withUnsafeMutableBytes { try store.repository.read(table, at: 0, into: $0) }
        #expect(count == bytes.count)
        return bytes
    }

    @Test func `the same view until something is committed`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let live = try LiveData(store: store)
        // A database that was written just now may change without a trace.
        try sandbox.sh("touch -d '1 minute ago' $S/app/database.sqlite*")
        let first = try live.view()
        #expect(try live.view() === first)
        #expect(try live.view() === first)
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos' >/dev/null")
        #expect(try live.view() === first)
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"insert into photos values (7,'x','y')\"")
        let second = try live.view()
        #expect(second !== first)
        // The old view continues to show the old state.
        #expect(try (json(Self.bytes(store, first, "export.json"))["photos"] as? [Any])?.count == 3)
        #expect(try (json(Self.bytes(store, second, "export.json"))["photos"] as? [Any])?.count == 4)
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    @Test func `many readers at once get one view`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let live = try LiveData(store: store)
        // A database that was written just now may change without a trace.
        try sandbox.sh("touch -d '1 minute ago' $S/app/database.sqlite*")
        let views = Mutex<[any LiveView]>([])
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            if let view = try? live.view() { views.withLock { $0.append(view) } }
        }
        #expect(views.withLock { $0.count } == 16)
        #expect(Set(views.withLock { $0.map { ObjectIdentifier($0) } }).count == 1)
    }

    @Test func `sizes, checksums and contents agree`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            "cd $S/app/photos; ln -s one.jpg link; printf odd > \"$(printf 'a\\nb')\"; mkdir .backupfs-staging-$(printf %032d 7)")
        let view = try LiveData(store: store).view()
        #expect(
            try view.children(of: [])?.map(\.name) == [
                "SHA256SUMS", "archive.tar", "archive.zip", "data", "database.sqlite", "export.json", "media", "schema.json",
            ])
        #expect(try view.children(of: ["media"])?.map(\.name) == ["2024", "a\nb", "link", "one.jpg"])
        #expect(try view.children(of: ["data"])?.map(\.name) == ["photos.json"])
        #expect(try view.children(of: ["none"]) == nil)
        #expect(try view.children(of: ["media", "none"]) == nil)
        #expect(try view.entry(at: ["none"]) == nil)
        #expect(try view.entry(at: ["media", ".backupfs-staging-00000000000000000000000000000007"]) == nil)
        #expect(try Self.bytes(store, view, "media", "2024", "two.jpg") == Array("two".utf8))
        let link = try #require(try view.entry(at: ["media", "link"]))
        #expect(link.kind == .symbolicLink && link.size == 7)
        for path in [
            ["export.json"], ["database.sqlite"], ["SHA256SUMS"], ["archive.zip"], ["archive.tar"], ["schema.json"],
            ["media", "one.jpg"],
        ] as [[FileName]] {
            let entry = try #require(try view.entry(at: path))
            let bytes = try path.count == 1 ? Self.bytes(store, view, path[0]) : Self.bytes(store, view, path[0], path[1])
            #expect(try entry.content.checksums() == ContentHasher.hash(bytes), "\(path)")
        }
        try Data(Self.bytes(store, view, "archive.zip")).write(to: URL(fileURLWithPath: sandbox("live.zip")))
        try Data(Self.bytes(store, view, "SHA256SUMS")).write(to: URL(fileURLWithPath: sandbox("SUMS")))
        try sandbox.sh(
            "mkdir $R/out; cd $R/out; unzip -^ -qq ../live.zip; cmp SHA256SUMS ../SUMS; sha256sum --quiet --strict -c SHA256SUMS; readlink media/link | grep -x one.jpg"
        )
        #expect(
            try sandbox.sh(
                "cd $R/out; sqlite3 database.sqlite 'pragma integrity_check; select count(*) from photos; pragma journal_mode'")
                == "ok\n3\ndelete")
        #expect(try sandbox.sh("stat -c '%a %Y' $R/out/media/one.jpg") == "640 1719837296")
    }

    @Test func `the tar archive makes its list of checksums of the files that it holds`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("cd $S/app/photos; ln -s one.jpg link; printf odd > \"$(printf 'a\\nb')\"; : > empty")
        let view = try LiveData(store: store).view()
        try Data(Self.bytes(store, view, "archive.tar")).write(to: URL(fileURLWithPath: sandbox("live.tar")))
        try Data(Self.bytes(store, view, "SHA256SUMS")).write(to: URL(fileURLWithPath: sandbox("SUMS")))
        try sandbox.sh(
            "mkdir $R/out; cd $R/out; tar -xpf ../live.tar; cmp SHA256SUMS ../SUMS; sha256sum --quiet --strict -c SHA256SUMS")
        try sandbox.sh(
            "diff -r --no-dereference $R/out/media $S/app/photos; stat -c '%a %Y' $R/out/media/one.jpg | grep -x '640 1719837296'"
        )

        // A file of the same size that replaced one of them has a checksum that does not match the bytes already read.
        let table = try #require(try LiveData(store: store).view().entry(at: ["archive.tar"])).content.table()
        try sandbox.sh("printf ONE > $S/app/photos/one.jpg")
        var buffer = [UInt8](repeating: 0, count: Int(table.size))
        #expect(
            failure { _ = try buffer.withUnsafeMutableBytes { try store.repository.read(table, at: 0, into: $0) } }?.code
                == .inputOutput)
        let listing = try #require(table.extents.dropLast().last)
        guard case .source(let source, let offset, _) = listing else {
            Issue.record("the list is no source")
            return
        }
        #expect(failure { _ = try buffer.withUnsafeMutableBytes { try source.read(at: offset, into: $0) } }?.code == .inputOutput)
    }

    @Test func `a media file that changes is an error for each reader that has begun`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let view = try LiveData(store: store).view()
        let entry = try #require(try view.entry(at: ["media", "one.jpg"]))
        try sandbox.sh("printf longer > $S/app/photos/one.jpg")
        #expect(failure { _ = try entry.content.table() }?.code == .inputOutput)
        #expect(failure { _ = try entry.content.checksums() }?.code == .inputOutput)
        // A new lookup sees the new one; that needs no new rendering.
        #expect(try Self.bytes(store, view, "media", "one.jpg") == Array("longer".utf8))
        #expect(try view.entry(at: ["media", "one.jpg"])?.content.checksums() == ContentHasher.hash(Array("longer".utf8)))
    }

    @Test func `a part of a source is a source`() throws {
        let sandbox = try Sandbox()
        let repository = try sandbox.makeDiary().repository
        try sandbox.write("0123456789", to: "f")
        let part = try SpoolFile(consuming: sandbox("f")).part(2..<7)
        var buffer = [UInt8](repeating: 0, count: 20)
        let counts = try [0, 3, 5, 9].map { offset in
            try buffer.withUnsafeMutableBytes { try part.read(at: UInt64(offset), into: $0) }
        }
        #expect(counts == [5, 2, 0, 0])
        let table = ExtentTable(plainContent: [.literal([65]), .source(part, offset: 1, length: 3), .literal([66])])
        let count = try buffer.withUnsafeMutableBytes { try repository.read(table, at: 0, into: $0) }
        #expect(buffer[..<count] == [65, 51, 52, 53, 66])
        let rest = try buffer.withUnsafeMutableBytes { try repository.read(table, at: 4, into: $0) }
        #expect(rest == 1 && buffer[0] == 66)
        let short = ExtentTable(plainContent: [.source(part, offset: 0, length: 9)])
        #expect(
            failure { _ = try buffer.withUnsafeMutableBytes { try repository.read(short, at: 0, into: $0) } }?.code
                == .inputOutput)
    }
}
