import BackupCore
import SystemIO

/// A run of a file's elements, without lists: the unit of extraction.
struct ExtractionPart: Sendable {
    let file: ExtractedFile
    /// The part's number in its file, from 0 on.
    let number: Int
    /// The part's offset in the file, in bytes.
    let offset: UInt64
    let elements: [FileContent.Element]

    /// - Parameter chunks: provides the plain bytes of the part's chunks, in order.
    /// - Throws: when nothing can be written any more. Read errors are recorded in the file.
    func write(_ chunks: inout ChunkRunReader, _ repository: Repository) throws(BackupError) {
        var readCount = 0
        do {
            try write { (body) throws(ExtractionFailure) in
                readCount += 1
                return try chunks.readNext(body)
            }
        } catch {
            chunks.skip(elements.chunkIDs.count - readCount)
            switch error {
            case .target(let error): throw error
            // Rewritten from its beginning, in a way that tries every place where a chunk is stored.
            case .content: try writeSlowly(repository)
            }
        }
    }

    /// Looks up each chunk separately.
    func writeSlowly(_ repository: Repository) throws(BackupError) {
        var ids = elements.chunkIDs[...]
        do {
            try write { (body) throws(ExtractionFailure) in
                guard let id = ids.popFirst() else { return nil }
                let chunk = try ExtractionFailure.reading { () throws(BackupError) in try repository.catalog.locate([id])[0] }
                let bytes = try ExtractionFailure.reading { () throws(BackupError) in
                    try repository.chunkReader.plainBytes(chunk)
                }
                try bytes.withUnsafeBytesThrowing { (bytes) throws(ExtractionFailure) in try body(bytes) }
                return chunk
            }
        } catch {
            switch error {
            case .target(let error): throw error
            case .content(let error): file.fail(error)
            }
        }
    }

    /// Small chunks are gathered, so that a file with many of them takes few calls.
    private static let gatheredByteCount = 256 << 10

    private func write(
        _ nextChunk: ((UnsafeRawBufferPointer) throws(ExtractionFailure) -> Void) throws(ExtractionFailure) -> StoredChunk?
    ) throws(ExtractionFailure) {
        var position = offset
        var crc32: UInt32 = 0
        var gathered: [UInt8] = []
        let isGathering = elements.count > 1
        if isGathering { gathered.reserveCapacity(Self.gatheredByteCount) }

        func flush() throws(ExtractionFailure) {
            guard !gathered.isEmpty else { return }
            try gathered.withUnsafeBytesThrowing { (bytes) throws(ExtractionFailure) in try file.write(bytes, at: position) }
            position += UInt64(gathered.count)
            gathered.removeAll(keepingCapacity: true)
        }
        func give(_ bytes: UnsafeRawBufferPointer) throws(ExtractionFailure) {
            if isGathering, gathered.count + bytes.count <= Self.gatheredByteCount {
                gathered.append(contentsOf: bytes)
                return
            }
            try flush()
            try file.write(bytes, at: position)
            position += UInt64(bytes.count)
        }

        for element in elements {
            let start = position + UInt64(gathered.count)
            switch element {
            case .literal(let bytes):
                try bytes.withUnsafeBytesThrowing { (bytes) throws(ExtractionFailure) in try give(bytes) }
                crc32 = CRC32.combine(crc32, CRC32.of(bytes), secondLength: UInt64(bytes.count))
            case .chunk(let id, let plainLength):
                let chunk = try nextChunk(give)
                guard let chunk, chunk.id == id, chunk.plainLength == plainLength,
                    position + UInt64(gathered.count) == start + UInt64(plainLength)
                else { throw .content(BackupError(.repositoryDamaged, "chunk \(id) does not have the length it should")) }
                crc32 =
                    start == offset ? chunk.plainCRC32 : CRC32.combine(crc32, chunk.plainCRC32, secondLength: UInt64(plainLength))
            case .list(let id, _):
                throw .content(BackupError(.repositoryDamaged, "content list \(id) was not followed"))
            }
        }
        try flush()
        file.finish(part: number, crc32: crc32, length: position - offset)
    }
}
