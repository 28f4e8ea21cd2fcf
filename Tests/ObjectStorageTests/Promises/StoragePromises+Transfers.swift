import BackupCore
import ObjectStorage
import SystemIO
import TestSupport
import Testing

extension StoragePromises {
    func wrongDraftsAreRefused() throws {
        let client = try makeClient()
        let bytes = Array("the right bytes".utf8)
        let right = SHA256Hasher.hash(bytes)
        let old = try client.create(name("old"), ObjectDraft(bytes))
        let size = UInt64(bytes.count)
        let wrong = [
            ObjectDraft(source: MemorySource(bytes), sizeBytes: size, sha256: SHA256Hasher.hash([1])),
            ObjectDraft(source: MemorySource(bytes), sizeBytes: size - 1, sha256: right),
            // The source is shorter.
            ObjectDraft(source: MemorySource(bytes), sizeBytes: size + 1, sha256: right),
            ObjectDraft(source: MemorySource([]), sizeBytes: 0, sha256: right),
        ]
        for draft in wrong {
            let code = errorCode { _ = try client.create(name("new/object"), draft) }
            #expect(code == .damagedContent || code == .inputOutput)
            #expect(try client.look(name("new/object")) == nil)
            guard client.capabilities.contains(.removal) else { continue }
            #expect(errorCode { _ = try client.replace(name("old"), version: old, draft) } != nil)
            #expect(try client.text(name("old")) == "the right bytes")
        }
        #expect(try client.names() == ["old"])
    }

    func failingSourceLeavesNothing() throws {
        let client = try makeClient()
        let source = GeneratedSource(sizeBytes: 3_000_000)
        let draft = try ObjectDraft(
            source: FailingSource(source, at: 2_000_000, code: .notFound), sizeBytes: source.sizeBytes, sha256: source.sha256())
        // An error of the source must not look like one of the storage.
        let code = errorCode { _ = try client.create(name("a"), draft) }
        #expect(code != nil && code != .notFound && code != .alreadyExists && code != .conflict)
        #expect(try client.look(name("a")) == nil)
        #expect(try client.names().isEmpty)
    }

    func cancelledCreateLeavesNothing() throws {
        let client = try makeClient()
        let old = try client.create(name("old"), ObjectDraft("old"))
        let source = GeneratedSource(sizeBytes: 3_000_000)
        let sha256 = try source.sha256()
        for isReplaced in client.capabilities.contains(.removal) ? [false, true] : [false] {
            let cancellation = Cancellation()
            let cancelling = CallingSource(source, at: 2_000_000) { cancellation.request() }
            let draft = ObjectDraft(source: cancelling, sizeBytes: source.sizeBytes, sha256: sha256)
            let name = try name(isReplaced ? "old" : "new")
            let code = errorCode {
                _ = try cancellation.run { () throws(BackupError) in
                    isReplaced ? try client.replace(name, version: old, draft) : try client.create(name, draft)
                }
            }
            #expect(code == .interrupted)
        }
        #expect(try client.names() == ["old"])
        #expect(try client.text(name("old")) == "old")
        let cancellation = Cancellation()
        cancellation.request()
        let code = errorCode {
            _ = try cancellation.run { () throws(BackupError) in try client.list(prefix: "", after: nil) }
        }
        #expect(code == .interrupted)
    }

    func rangesAreCut() throws {
        let client = try makeClient()
        let source = GeneratedSource(sizeBytes: 700_001)
        let bytes = try source.bytes(at: 0, upTo: 700_001)
        _ = try client.create(name("object"), ObjectDraft(bytes))
        _ = try client.create(name("empty"), ObjectDraft([]))
        let ranges: [Range<UInt64>] = [
            0..<1, 0..<700_001, 700_000..<700_001, 1..<2, 262_143..<262_145, 123..<600_000, 700_000..<800_000, 0..<UInt64.max,
        ]
        for range in ranges {
            let expected = bytes[Int(range.lowerBound)..<Int(min(range.upperBound, 700_001))]
            #expect(try client.bytes(name("object"), range) == Array(expected), "\(range)")
        }
        for range: Range<UInt64> in [
            0..<0, 5..<5, 700_001..<700_002, 700_001..<700_001, 9_000_000..<9_000_001, (.max - 1)..<(.max),
        ] {
            var callCount = 0
            let facts = try client.read(name("object"), range: range) { callCount += $0.isEmpty ? 0 : 1 }
            #expect(callCount == 0, "\(range)")
            #expect(facts.sizeBytes == 700_001)
        }
        #expect(try client.bytes(name("empty"), 0..<10).isEmpty)
        #expect(try client.bytes(name("empty")).isEmpty)
        #expect(errorCode { _ = try client.bytes(name("missing"), 0..<0) } == .notFound)
    }

    func consumerCanStop() throws {
        let client = try makeClient()
        let source = GeneratedSource(sizeBytes: 3_000_000)
        _ = try client.create(name("object"), try source.draft())
        let error = BackupError(.tooLarge, "enough")
        let name = try name("object")
        let code = errorCode { _ = try client.read(name, range: nil) { (_) throws(BackupError) in throw error } }
        #expect(code == .tooLarge)
        #expect(try client.bytes(name, 10..<20) == source.bytes(at: 10, upTo: 10))
    }

    /// It is compared by its SHA-256, and is never in memory as a whole.
    func largeObjectPasses() throws {
        let client = try makeClient()
        let source = GeneratedSource(sizeBytes: largeSizeBytes)
        let sha256 = try source.sha256()
        let before = try peakMemoryBytes()
        _ = try client.create(name("large"), ObjectDraft(source: source, sizeBytes: source.sizeBytes, sha256: sha256))
        var hasher = SHA256Hasher()
        var count: UInt64 = 0
        let facts = try client.read(name("large"), range: nil) { bytes in
            hasher.update(bytes)
            count += UInt64(bytes.count)
        }
        #expect(count == largeSizeBytes && facts.sizeBytes == largeSizeBytes)
        #expect(hasher.finish() == sha256)
        let middle = largeSizeBytes / 2 - 1
        #expect(try client.bytes(name("large"), middle..<middle + 3) == source.bytes(at: middle, upTo: 3))
        if largeSizeBytes >= 128 << 20 { #expect(try peakMemoryBytes() < before + 64 << 20) }
    }

    /// The most memory that the process has used. Other tests run at the same time, so only a large object shows in it.
    private func peakMemoryBytes() throws -> UInt64 {
        let status = String(decoding: try readFile("/proc/self/status"), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(UInt64(line.split(separator: " ").dropLast().last ?? "")) * 1024
    }
}
