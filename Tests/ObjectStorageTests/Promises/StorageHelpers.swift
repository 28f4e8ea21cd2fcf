import BackupCore
import ObjectStorage
import Synchronization
import SystemIO
import TestSupport
import Testing

func name(_ text: String) throws -> ObjectName { try #require(ObjectName(text)) }

extension ObjectDraft {
    init(_ text: String) { self.init(Array(text.utf8)) }
}

extension ObjectStorage {
    func bytes(_ name: ObjectName, _ range: Range<UInt64>? = nil) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try read(name, range: range) { bytes += $0 }
        return bytes
    }

    func text(_ name: ObjectName) throws(BackupError) -> String { String(decoding: try bytes(name), as: UTF8.self) }

    /// All names, page by page.
    func names(prefix: String = "") throws -> [String] {
        var names: [String] = []
        var last: ObjectName?
        while true {
            let page = try list(prefix: prefix, after: last)
            #expect(page.objects.count <= 1_000)
            names += page.objects.map(\.name.text)
            guard page.hasMore else { return names }
            last = try #require(page.objects.last).name
        }
    }
}

/// Runs `body` in threads that start at the same moment.
/// - Returns: the results in the order of the numbers.
func concurrently<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (_ number: Int) throws -> Value
) throws -> [Value] {
    let state = Monitor<(readyCount: Int, results: [Int: Result<Value, any Error>])>((0, [:]))
    let threads = try (0..<count).map { number in
        try SystemThread {
            state.changeWakingAll { $0.readyCount += 1 }
            state.wait(until: { $0.readyCount == count }) { _ in }
            let result = Result { try body(number) }
            state.withLock { $0.results[number] = result }
        }
    }
    for thread in threads { thread.join() }
    let results = state.withLock { $0.results }
    return try (0..<count).map { try #require(results[$0]).get() }
}

/// Lets threads go on when all of them have arrived; a storage that lets one go first is not held up for ever.
final class Barrier: Sendable {
    private let arrivedCount = Monitor(0)
    private let count: Int

    init(_ count: Int) { self.count = count }

    func wait() {
        arrivedCount.changeWakingAll { $0 += 1 }
        _ = arrivedCount.wait(until: { [count] in $0 >= count }, forNanoseconds: 2_000_000_000)
    }
}

/// Bytes that are computed when they are read: each block of 8 is its own number, mixed.
final class GeneratedSource: ByteSource {
    let sizeBytes: UInt64

    init(sizeBytes: UInt64) { self.sizeBytes = sizeBytes }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let count = Int(min(UInt64(buffer.count), sizeBytes - min(offset, sizeBytes)))
        var index = 0
        while index < count {
            let position = offset + UInt64(index)
            let word = (position / 8 &+ 1) &* 0x9E37_79B9_7F4A_7C15
            if position % 8 == 0, count - index >= 8 {
                buffer.storeBytes(of: word.littleEndian, toByteOffset: index, as: UInt64.self)
                index += 8
            } else {
                buffer[index] = UInt8(truncatingIfNeeded: word >> (8 * (position % 8)))
                index += 1
            }
        }
        return count
    }

    func sha256() throws(BackupError) -> SHA256Digest {
        var hasher = SHA256Hasher()
        var offset: UInt64 = 0
        while offset < sizeBytes {
            let block = try bytes(at: offset, upTo: 1 << 20)
            block.withUnsafeBytes { hasher.update($0) }
            offset += UInt64(block.count)
        }
        return hasher.finish()
    }

    func draft() throws(BackupError) -> ObjectDraft {
        ObjectDraft(source: self, sizeBytes: sizeBytes, sha256: try sha256())
    }
}

/// Fails from an offset on.
final class FailingSource: ByteSource {
    private let source: any ByteSource
    private let offset: UInt64
    private let code: BackupError.Code

    init(_ source: any ByteSource, at offset: UInt64, code: BackupError.Code) {
        self.source = source
        self.offset = offset
        self.code = code
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < self.offset else { throw BackupError(code, "the source failed") }
        return try source.read(at: offset, into: buffer)
    }
}

/// Calls a function when it is read from an offset on.
final class CallingSource: ByteSource {
    private let source: any ByteSource
    private let offset: UInt64
    private let call: @Sendable () -> Void

    init(_ source: any ByteSource, at offset: UInt64, _ call: @escaping @Sendable () -> Void) {
        self.source = source
        self.offset = offset
        self.call = call
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        if offset >= self.offset { call() }
        return try source.read(at: offset, into: buffer)
    }
}
