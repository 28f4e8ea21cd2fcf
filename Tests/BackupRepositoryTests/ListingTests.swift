import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Sizes and lines of SHA256SUMS and MD5SUMS, compared with what the real programs print and accept.
@Suite struct ListingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let names: [FileName] = [
        "plain.txt", "with space", "Übersicht.json", "back\\slash", "new\nline", "carriage\rreturn", "all\\of\nthem\r\\",
        FileName(bytes: [0xff, 0x80, 0x5c]), "*star", " leading", "trailing ",
    ]

    /// The same files in a folder on disk and in a stored tree.
    private func make(_ writer: BackupWriter, depth: Int, path: [UInt8]) throws -> [TreeEntry] {
        var entries: [TreeEntry] = []
        for (index, name) in Self.names.enumerated() {
            let bytes = TestData.random(index * 30, seed: UInt64(index + 1))
            let stored = try writer.store(bytes, policy: .media)
            entries.append(.file(name: name, mode: 0o600, modificationTime: Timestamp(seconds: 1), stored: stored))
            let descriptor = try open(path + [47] + name.bytes)
            try descriptor.writeAll(bytes)
        }
        entries.append(.symbolicLink(name: "link", target: Array("plain.txt".utf8), modificationTime: Timestamp(seconds: 1)))
        guard depth > 0 else { return entries }
        for name: FileName in ["sub", "sub\\folder", "a\nb", "empty"] {
            let below = path + [47] + name.bytes
            try #require(withCPath(below) { mkdir($0, 0o700) } == 0)
            let children = name == "empty" ? [] : try make(writer, depth: depth - 1, path: below)
            let stored = try writer.store(children)
            entries.append(.directory(name: name, mode: 0o700, modificationTime: Timestamp(seconds: 1), stored: stored))
        }
        return entries
    }

    /// - Returns: -1 for no path at all.
    private func withCPath(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        (path.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { $0.baseAddress.map(body) ?? -1 }
    }

    private func open(_ path: [UInt8]) throws -> OwnedDescriptor {
        let number = withCPath(path) { Glibc.open($0, O_WRONLY | O_CREAT | O_EXCL, 0o600) }
        try #require(number >= 0)
        return OwnedDescriptor(owning: number, path: "test file")
    }

    @Test func sizesAreThoseOfRealListings() throws {
        let repository = try Repository.create(at: folder("repository"))
        let writer = try repository.makeWriter()
        try FileManager.default.createDirectory(atPath: folder("tree"), withIntermediateDirectories: true)
        let entries = try make(writer, depth: 2, path: Array(folder("tree").utf8))
        let snapshot = try writer.commit(named: "a", entries: entries)
        let totals = snapshot.record.root.totals
        for (program, length) in [("sha256sum", 64), ("md5sum", 32), ("sha1sum", 40)] {
            let command = "find . -type f -printf '%P\\0' | sort -z | xargs -0 \(program) --"
            let real = try run(["sh", "-c", command], in: folder("tree")).bytes
            #expect(totals.listingSizeBytes(digestHexLength: length) == UInt64(real.count))
            for prefix in ["snapshots/x", "pre\\fix", "a\n\rb"] {
                try? FileManager.default.createDirectory(
                    atPath: folder("above/" + prefix), withIntermediateDirectories: true)
                try FileManager.default.removeItem(atPath: folder("above/" + prefix))
                try FileManager.default.createSymbolicLink(
                    atPath: folder("above/" + prefix), withDestinationPath: folder("tree"))
                let deeper = try run(
                    ["sh", "-c", "find -L \"$0\" -type f -not -name link -print0 | xargs -0 \(program) --", prefix],
                    in: folder("above"))
                let size = totals.listingSizeBytes(digestHexLength: length, pathPrefix: Array("\(prefix)/".utf8))
                #expect(size == UInt64(deeper.bytes.count))
            }
        }
        #expect(totals.fileCount == 13 * 11 && totals.directoryCount == 4 + 3 * 4 && totals.symbolicLinkCount == 13)
        let find = try run(["sh", "-c", "find . -type f -printf '%P' | wc -c"], in: folder("tree")).bytes
        #expect(String(decoding: find, as: UTF8.self) == "\(totals.pathByteCount)\n")
    }

    @Test func linesAreThoseOfSha256sum() throws {
        for name in Self.names {
            let descriptor = try open(Array(folder.path.utf8) + [47] + name.bytes)
            try descriptor.writeAll(Array("abc".utf8))
        }
        let real = try run(
            ["sh", "-c", "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum --"], in: folder.path)
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let ours = Self.names.sorted().flatMap { ChecksumListing.line(digest: digest, path: $0.bytes) }
        #expect(ours == real.bytes)
    }
}
