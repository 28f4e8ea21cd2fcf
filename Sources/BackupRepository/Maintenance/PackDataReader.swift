import BackupCore
import Glibc
import SystemIO

/// Reads the chunks of whole packs from start to end, many in one call, at disk speed. For one thread at a time.
final class PackDataReader {
    /// The number of bytes to read in one call. A larger chunk is read alone.
    private static let runByteCount = 8 << 20

    private let layout: RepositoryLayout
    /// How many bytes a chunk takes in a pack beyond its stored bytes.
    private let overheadByteCount: Int
    private var buffer: [UInt8] = []

    init(_ repository: Repository) {
        layout = repository.layout
        overheadByteCount = RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing)
    }

    /// Calls `body` with each chunk and its bytes as stored in the pack (sealed, in an encrypted repository), or with the error that prevented reading them.
    /// - Parameter chunks: of one pack, sorted by offset. In a damaged pack they may overlap or extend beyond its end; the latter get an error.
    /// - Throws: errors of opening the pack, and those of `body`; `interrupted`, which says nothing about the chunk.
    func read(
        _ chunks: [StoredChunk], of pack: PackID,
        _ body: (StoredChunk, Result<UnsafeRawBufferPointer, BackupError>) throws(BackupError) -> Void
    ) throws(BackupError) {
        let file = try SharedFile(path: layout.packPath(of: pack))
        _ = posix_fadvise(file.rawDescriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
        var first = 0
        while first < chunks.count {
            let end = endOfRun(chunks, from: first)
            if end < chunks.count {
                // While this run is processed, the disk reads the next one ahead.
                let next = chunks[end]
                _ = posix_fadvise(file.rawDescriptor, off_t(next.packOffset), off_t(Self.runByteCount), POSIX_FADV_WILLNEED)
            }
            try read(chunks[first..<end], file, body)
            first = end
        }
    }

    private func end(of chunk: StoredChunk) -> UInt64 {
        chunk.packOffset + UInt64(chunk.storedLength) + UInt64(overheadByteCount)
    }

    /// As many chunks as are close together and fit. The first one alone may be longer.
    private func endOfRun(_ chunks: [StoredChunk], from first: Int) -> Int {
        let start = chunks[first].packOffset
        var end = first + 1
        while end < chunks.count, self.end(of: chunks[end]) - start <= UInt64(Self.runByteCount) {
            end += 1
        }
        return end
    }

    private func read(
        _ run: ArraySlice<StoredChunk>, _ file: SharedFile,
        _ body: (StoredChunk, Result<UnsafeRawBufferPointer, BackupError>) throws(BackupError) -> Void
    ) throws(BackupError) {
        guard let start = run.first?.packOffset, let runEnd = run.lazy.map(end(of:)).max() else { return }
        // If chunks overlap, the last one need not have the highest end.
        let count = Int(runEnd - start)
        if buffer.count < count { buffer = [UInt8](repeating: 0, count: max(count, Self.runByteCount)) }
        try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
            let all = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
            // If a part of the disk cannot be read, the chunks around it may still be readable one by one.
            let isWhole = (try? file.read(at: start, into: all)) == count
            for chunk in run {
                let offset = Int(chunk.packOffset - start)
                let part = UnsafeMutableRawBufferPointer(rebasing: all[offset..<Int(end(of: chunk) - start)])
                var failure: BackupError?
                if !isWhole {
                    do throws(BackupError) {
                        if try file.read(at: chunk.packOffset, into: part) < part.count {
                            failure = BackupError(.repositoryDamaged, "the pack ends within it", path: file.path)
                        }
                    } catch {
                        if error.code == .interrupted { throw error }
                        failure = error
                    }
                }
                try body(chunk, failure.map { .failure($0) } ?? .success(UnsafeRawBufferPointer(part)))
            }
        }
    }
}
