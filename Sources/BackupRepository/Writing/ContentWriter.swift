import BackupCore
import SystemIO

/// Takes one file's bytes from start to end, in pieces of any size, and stores them as chunks. For one thread at a time; several
/// may be in use at once.
public final class ContentWriter {
    /// A file of at most so many bytes stands in its directory entry: naming a chunk would take as much.
    static let literalLimitBytes = 64

    private let store: ChunkStore
    private let compression: ChunkEncoder.Compression
    private let kind: PackKind
    private var cutter: ChunkCutter
    private var hasher: ContentHasher? = ContentHasher()
    private var list: ContentListBuilder
    /// The start of a chunk whose end has not come yet.
    private var partial: [UInt8] = []
    private var isUsable = true
    /// Bytes taken so far.
    public private(set) var byteCount: UInt64 = 0

    init(store: ChunkStore, cutter: ChunkCutter, policy: ChunkingPolicy) {
        self.store = store
        self.cutter = cutter
        compression = policy.compression
        kind = policy == .metadata ? .metadata : .data
        list = ContentListBuilder { (bytes) throws(BackupError) in try store.storeList(bytes) }
    }

    /// - Throws: `noSpace`, `inputOutput`; the writer is of no further use then.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try requireUsable()
        isUsable = false
        hasher?.update(bytes)
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

    public func append(_ bytes: [UInt8]) throws(BackupError) {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try append(buffer) }
    }

    /// Ends the file; call it once.
    public func finish() throws(BackupError) -> StoredFile {
        try requireUsable()
        isUsable = false
        guard let checksums = hasher.take()?.finish() else { throw Self.unusable }
        if byteCount <= Self.literalLimitBytes {
            return StoredFile(content: FileContent(literal: partial), checksums: checksums)
        }
        if !partial.isEmpty { try emitPartial() }
        let content = try list.finish()
        guard content.size == byteCount else {
            throw BackupError(.repositoryDamaged, "a file of \(byteCount) bytes became \(content.size) bytes of chunks")
        }
        return StoredFile(content: content, checksums: checksums)
    }

    private static let unusable = BackupError(.invalidArgument, "a file is written to after it was finished or failed")

    private func requireUsable() throws(BackupError) {
        guard isUsable else { throw Self.unusable }
    }

    private func emitPartial() throws(BackupError) {
        try partial.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try emit(buffer) }
        partial.removeAll(keepingCapacity: true)
    }

    private func emit(_ chunk: UnsafeRawBufferPointer) throws(BackupError) {
        let id = try store.store(chunk, kind: kind, compression: compression)
        try list.append(.chunk(id, plainLength: UInt32(chunk.count)))
    }
}

extension ChunkStore {
    /// Stores a content list.
    func storeList(_ bytes: [UInt8]) throws(BackupError) -> ChunkID {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
            try store(buffer, kind: .metadata, compression: .whenSmaller)
        }
    }
}
