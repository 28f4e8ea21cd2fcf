import BackupCore
import Glibc
import SystemIO

/// Reads once more what was read of a file that had changed a short time before. A write(2) sets the times of a file when it
/// begins, and those of two writes can be the same (`FileStatus.isSettled`): what is read meanwhile can be half old and half
/// new, with equal times before and after.
struct SecondLook {
    /// From the first look to the second one: a write that had begun goes on meanwhile.
    private static let pauseNanoseconds: UInt64 = 20_000_000
    /// How long a write that had begun before the file was opened may take.
    private static let writeNanoseconds: UInt64 = 2_000_000_000
    /// Of the clocks of this machine and of a file system.
    private static let differenceSeconds: Int64 = 3

    private struct Part {
        let offset: UInt64
        let count: Int
        let digest: XXH64Digest
    }

    private let isNeeded: Bool
    private let needsPause: Bool
    /// When the file was opened and when its first byte was about to be read, in nanoseconds of the monotonic clock.
    private let openedAt = SystemClock.monotonicNanoseconds()
    private var begunAt: UInt64?
    private var parts: [Part] = []
    private var holes: [Range<UInt64>] = []

    /// - Parameter status: of the file, which was opened just now.
    init(_ status: FileStatus) {
        isNeeded = !status.isSettled
        // A camera whose clock is hours ahead has written none of its files just now.
        needsPause = isNeeded && status.changeTime.secondsSince(SystemClock.systemTime()) <= Self.differenceSeconds
    }

    /// The first look begins.
    mutating func begin() {
        if isNeeded, begunAt == nil { begunAt = SystemClock.monotonicNanoseconds() }
    }

    /// Later, all writes that had begun before the opening have ended.
    private var isDoubtful: Bool {
        isNeeded && (SystemClock.monotonicNanoseconds() < openedAt + Self.writeNanoseconds || parts.isEmpty && holes.isEmpty)
    }

    /// Notes what was read.
    mutating func note(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
        if isDoubtful { parts.append(Part(offset: offset, count: bytes.count, digest: Self.digest(bytes))) }
    }

    /// Notes a hole.
    mutating func note(hole: Range<UInt64>) {
        if isDoubtful, !hole.isEmpty { holes.append(hole) }
    }

    /// - Parameters:
    ///   - file: reads of it are ordinary ones from now on.
    ///   - size: in bytes.
    ///   - takeBuffer: called if it is needed, for a buffer that the longest part fits into.
    /// - Returns: whether the file still has the same bytes and holes.
    func confirms(
        _ file: borrowing OwnedDescriptor, size: UInt64, takeBuffer: () -> BlockPool.Block
    ) throws(BackupError) -> Bool {
        guard !parts.isEmpty || !holes.isEmpty else { return true }
        pause()
        for hole in holes {
            if let data = file.data(from: hole.lowerBound, size: size), data.lowerBound < hole.upperBound { return false }
        }
        guard !parts.isEmpty else { return true }
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

    private func pause() {
        guard needsPause else { return }
        let end = (begunAt ?? openedAt) + Self.pauseNanoseconds
        let now = SystemClock.monotonicNanoseconds()
        if now < end { usleep(UInt32((end - now) / 1_000) + 1) }
    }

    private static func digest(_ bytes: UnsafeRawBufferPointer) -> XXH64Digest {
        var hasher = XXH3Hasher(is128: false)
        hasher.update(bytes)
        return hasher.finish64()
    }
}
