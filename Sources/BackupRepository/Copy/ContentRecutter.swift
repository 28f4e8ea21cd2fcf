import BackupCore
import Synchronization
import SystemIO

/// Copies contents between repositories that cut files at different places: each is cut again, as a backup there would cut it, so
/// that later backups share its chunks. For one thread.
final class ContentRecutter {
    private let source: Repository
    private let writer: BackupWriter
    private let known: CopiedContents
    private let policy: ([UInt8], [UInt8]) -> ChunkingPolicy
    private let reading: SourceReading
    private let progress: CopyProgress

    /// - Parameter policy: how a backup cuts the file at a path of the snapshot, with these first bytes.
    init(
        from source: Repository, _ writer: BackupWriter, _ known: CopiedContents, _ reading: SourceReading,
        _ progress: CopyProgress, policy: @escaping ([UInt8], [UInt8]) -> ChunkingPolicy
    ) {
        self.source = source
        self.writer = writer
        self.known = known
        self.reading = reading
        self.progress = progress
        self.policy = policy
    }

    /// - Parameters:
    ///   - path: of the file in the snapshot.
    ///   - earlier: the file of that path in an earlier snapshot of the target.
    /// - Returns: the file's content in the target.
    /// - Throws: errors of the source, noted in `reading`; errors of the target.
    func copy(_ entry: TreeEntry, at path: [UInt8], earlier: FileContent?) throws(BackupError) -> FileContent {
        guard entry.kind == .file, entry.content.literalBytes == nil else { return entry.content }
        if let copy = try known.copy(of: entry.content), try writer.takeOver([copy])[0] {
            progress.add(bytes: entry.size)
            return copy
        }
        let policy = policy(path, try start(of: entry.content))
        let bytes = SequentialSource(entry.content, in: source, reading)
        let stored = try writer.store(bytes, policy: policy, earlier: earlier) { [progress] in progress.add(bytes: $0) }
        guard entry.isProved(by: stored.checksums), stored.size == entry.size else {
            throw reading.note(
                BackupError(
                    .repositoryDamaged, "“\(MessageText.name(path))” does not have the checksums that its folder has",
                    path: source.location))
        }
        try known.note(stored.content, of: entry.content)
        return stored.content
    }

    /// The first bytes of a file, as many as its first piece has.
    private func start(of content: FileContent) throws(BackupError) -> [UInt8] {
        try reading.run { () throws(BackupError) in
            var walk = ContentWalk(content, source.resolver)
            switch try walk.next() {
            case .literal(let bytes): return bytes
            case .chunk(let id, _): return try source.plainBytes(of: id)
            case .list, nil: return []
            }
        }
    }
}

/// A stored file as a source that is read once, from its start to its end. Memory does not grow with the file. Errors of reading
/// are noted.
final class SequentialSource: ByteSource {
    private struct State {
        var walk: ContentWalk
        /// Elements that were located, in order.
        var pieces: ArraySlice<ContentPiece> = []
        /// Bytes of the last piece that were not read yet.
        var rest: ArraySlice<UInt8> = []
        var offset: UInt64 = 0
    }

    private static let lookAheadCount = 64

    private let repository: Repository
    private let reading: SourceReading
    private let state: Mutex<State>

    init(_ content: FileContent, in repository: Repository, _ reading: SourceReading) {
        self.repository = repository
        self.reading = reading
        state = Mutex(State(walk: ContentWalk(content, repository.resolver)))
    }

    /// - Throws: also `invalidArgument` for an offset that does not follow the bytes read before.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try state.withLock { (state) throws(BackupError) in
            guard offset == state.offset else {
                throw BackupError(.invalidArgument, "a file that is being copied is not read in order")
            }
            var count = 0
            while count < buffer.count {
                if state.rest.isEmpty {
                    guard let bytes = try reading.run({ () throws(BackupError) in try next(&state) }) else { break }
                    state.rest = bytes[...]
                    continue
                }
                let part = state.rest.prefix(buffer.count - count)
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
                count += part.count
                state.rest.removeFirst(part.count)
            }
            state.offset += UInt64(count)
            return count
        }
    }

    private func next(_ state: inout State) throws(BackupError) -> [UInt8]? {
        if state.pieces.isEmpty {
            var elements: [FileContent.Element] = []
            while elements.count < Self.lookAheadCount, let element = try state.walk.next() { elements.append(element) }
            state.pieces = try repository.pieces(of: elements)[...]
        }
        switch state.pieces.popFirst() {
        case nil: return nil
        case .literal(let bytes): return bytes
        case .chunk(let chunk): return try repository.chunkReader.verified(chunk).plain
        case .source: throw BackupError(.invalidArgument, "a stored file refers to a file that is not stored")
        }
    }
}
