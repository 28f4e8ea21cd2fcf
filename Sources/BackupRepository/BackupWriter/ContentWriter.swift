import BackupCore
import SystemIO

/// Takes one file's bytes from start to end, in pieces of any size, and stores them as chunks, on the calling thread. For one
/// thread at a time; several writers may be in use concurrently. (`ContentPipeline` does the same for a large file with all
/// processors.)
public final class ContentWriter {
    /// A file of at most this size is stored in its directory entry: a chunk reference would take as much.
    static let literalLimitBytes = 64

    private let store: ChunkStore
    private let compression: ChunkEncoder.Compression
    private let kind: PackKind
    private var cutter: ChunkCutter
    private var hasher = ContentHasher()
    private let assembler: ContentAssembler
    /// The start of a chunk whose end has not been found yet.
    private var partial: [UInt8] = []
    private var isUsable = true
    private var hasEmitted = false
    /// Bytes received so far.
    public private(set) var byteCount: UInt64 = 0

    init(store: ChunkStore, cutter: ChunkCutter, policy: ChunkingPolicy, base: sending BaseMatcher? = nil) {
        self.store = store
        self.cutter = cutter
        compression = policy.compression
        kind = policy.packKind
        assembler = ContentAssembler(store: store, policy: policy, base: base)
    }

    /// - Throws: `noSpace`, `inputOutput`; the writer cannot be used afterwards.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try requireUsable()
        isUsable = false
        hasher.update(bytes)
        byteCount += UInt64(bytes.count)
        var rest = bytes
        while !rest.isEmpty {
            guard let count = cutter.scan(rest) else {
                partial.append(contentsOf: rest)
                break
            }
            let end = UnsafeRawBufferPointer(rebasing: rest[..<count])
            if partial.isEmpty {
                try emit(end)
            } else {
                partial.append(contentsOf: end)
                try emitPartial()
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        isUsable = true
    }

    /// Appends the bytes as the next ones of the file.
    public func append(_ bytes: [UInt8]) throws(BackupError) {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try append(buffer) }
    }

    /// Ends the file; call it once.
    public func finish() throws(BackupError) -> StoredFile {
        try requireUsable()
        isUsable = false
        let checksums = hasher.finish()
        if byteCount <= Self.literalLimitBytes {
            return StoredFile(content: FileContent(literal: partial), checksums: checksums)
        }
        // A file of one chunk has been hashed already.
        if !partial.isEmpty { try emitPartial(digest: hasEmitted ? nil : checksums.sha256) }
        let content = try assembler.finish()
        guard content.size == byteCount else {
            throw BackupError(.repositoryDamaged, "a file of \(byteCount) bytes became \(content.size) bytes of chunks")
        }
        return StoredFile(content: content, checksums: checksums)
    }

    private func requireUsable() throws(BackupError) {
        guard isUsable else {
            throw BackupError(.invalidArgument, "a file is written to after it was finished or failed")
        }
    }

    private func emitPartial(digest: SHA256Digest? = nil) throws(BackupError) {
        try partial.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try emit(buffer, digest: digest) }
        partial.removeAll(keepingCapacity: true)
    }

    private func emit(_ chunk: UnsafeRawBufferPointer, digest: SHA256Digest? = nil) throws(BackupError) {
        hasEmitted = true
        let id = store.name(of: chunk, digest: digest)
        if case .store(let similar) = try assembler.append(id, length: chunk.count) {
            try store.store(id, chunk, kind: kind, compression: compression, similar: similar)
        }
    }
}
