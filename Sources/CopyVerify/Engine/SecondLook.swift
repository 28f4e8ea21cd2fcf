import BackupCore
import Glibc
import SystemIO

/// Reads once more what was read of a file that had changed a short time before. A write(2) sets the times of a file when it
/// begins, and those of two writes can be the same (`FileStatus.isSettled`): what is read meanwhile can be half old and half
/// new, with equal times before and after.
struct SecondLook {
    /// From the opening of the file to the second look: a write that had begun goes on meanwhile.
    private static let pauseNanoseconds: UInt64 = 20_000_000
    /// How long a write that had begun before the file was opened may take.
    private static let writeNanoseconds: UInt64 = 2_000_000_000

    private struct Part {
        let offset: UInt64
        let count: Int
        let digest: XXH64Digest
    }

    /// In nanoseconds of the monotonic clock.
    private let openedAt = SystemClock.monotonicNanoseconds()
    private let isNeeded: Bool
    private var parts: [Part] = []

    /// - Parameter status: of the file, which was opened just now.
    init(_ status: FileStatus) { isNeeded = !status.isSettled }

    /// Notes what was read first.
    mutating func note(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
        guard isNeeded, SystemClock.monotonicNanoseconds() < openedAt + Self.writeNanoseconds || parts.isEmpty else { return }
        parts.append(Part(offset: offset, count: bytes.count, digest: Self.digest(bytes)))
    }

    /// - Parameters:
    ///   - file: reads of it are ordinary ones from now on.
    ///   - takeBuffer: called if it is needed, for a buffer that the longest part fits into.
    /// - Returns: whether the file still has the same bytes.
    func confirms(
        _ file: borrowing OwnedDescriptor, takeBuffer: () -> BlockPool.Block
    ) throws(BackupError) -> Bool {
        guard !parts.isEmpty else { return true }
        let end = openedAt + Self.pauseNanoseconds
        let now = SystemClock.monotonicNanoseconds()
        if now < end { usleep(UInt32((end - now) / 1_000) + 1) }
        _ = file.setDirect(false)
        let block = takeBuffer()
        for part in parts {
            let buffer = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes[..<part.count])
            guard try file.readFully(at: part.offset, into: buffer) == part.count,
                Self.digest(UnsafeRawBufferPointer(buffer)) == part.digest
            else { return false }
        }
        return true
    }

    private static func digest(_ bytes: UnsafeRawBufferPointer) -> XXH64Digest {
        var hasher = XXH3Hasher(is128: false)
        hasher.update(bytes)
        return hasher.finish64()
    }
}
