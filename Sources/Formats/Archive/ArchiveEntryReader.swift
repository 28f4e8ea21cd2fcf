import BackupCore
import SystemIO

/// Unpacks one entry of an archive, a part at a time, in bounded memory. For one thread.
public final class ArchiveEntryReader {
    private static let bufferSizeBytes = 256 << 10

    private let source: any ByteSource
    private let entry: ArchiveEntry
    /// What is unpacked, and what it is unpacked from.
    private let output: UnsafeMutableRawBufferPointer
    private let input: UnsafeMutableRawBufferPointer?
    private var inflater: Inflater?
    private var pending: Range<Int> = 0..<0
    /// Of the entry in the archive.
    private var readCount: UInt64 = 0
    private var producedCount: UInt64 = 0
    private var crc: UInt32 = 0
    private var isFinished = false

    init(_ source: any ByteSource, _ entry: ArchiveEntry) {
        self.source = source
        self.entry = entry
        output = .allocate(byteCount: Self.bufferSizeBytes, alignment: 16)
        input = entry.isDeflated ? .allocate(byteCount: Self.bufferSizeBytes, alignment: 16) : nil
        if entry.isDeflated { inflater = Inflater() }
    }

    deinit {
        output.deallocate()
        input?.deallocate()
    }

    /// The next bytes, valid until the next call; never more in all than the entry's size.
    /// - Returns: `nil` after the last ones, which were verified then.
    /// - Throws: `damagedContent` when data, size or CRC do not match; `inputOutput`.
    public func next() throws(BackupError) -> UnsafeRawBufferPointer? {
        while !isFinished {
            let part = try entry.isDeflated ? inflate() : copy()
            crc = CRC32.update(crc, part)
            producedCount += UInt64(part.count)
            if isFinished, crc != entry.crc32 ?? crc {
                throw ArchiveFailure.damaged("The content of \(ArchiveFailure.quoted(entry.path)) does not have its CRC.")
            }
            if !part.isEmpty { return part }
        }
        return nil
    }

    private func copy() throws(BackupError) -> UnsafeRawBufferPointer {
        let count = Int(min(UInt64(output.count), entry.size - readCount))
        let part = UnsafeMutableRawBufferPointer(rebasing: output[..<count])
        try ArchiveWindow.fill(part, from: source, at: entry.dataOffset + readCount)
        readCount += UInt64(count)
        isFinished = readCount == entry.size
        return UnsafeRawBufferPointer(part)
    }

    private func inflate() throws(BackupError) -> UnsafeRawBufferPointer {
        guard let input else { return UnsafeRawBufferPointer(output)[..<0].rebased }
        if pending.isEmpty, readCount < entry.compressedSize {
            let count = Int(min(UInt64(input.count), entry.compressedSize - readCount))
            try ArchiveWindow.fill(
                UnsafeMutableRawBufferPointer(rebasing: input[..<count]), from: source, at: entry.dataOffset + readCount)
            readCount += UInt64(count)
            pending = 0..<count
        }
        let rest = entry.size - producedCount
        // One byte more than allowed, so that excess data is detected without unpacking it.
        let outputCount = Int(min(UInt64(output.count), rest + 1))
        let step = inflater?.step(
            input: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[pending]),
            output: UnsafeMutableRawBufferPointer(rebasing: output[..<outputCount]))
        guard let step, UInt64(step.outputCount) <= rest, step.isFinished || step.inputCount > 0 || step.outputCount > 0 else {
            throw ArchiveFailure.damaged("The compressed data of \(ArchiveFailure.quoted(entry.path)) is damaged.")
        }
        pending = pending.lowerBound + step.inputCount..<pending.upperBound
        if step.isFinished {
            guard pending.isEmpty, readCount == entry.compressedSize, UInt64(step.outputCount) == rest else {
                throw ArchiveFailure.damaged(
                    "The compressed data of \(ArchiveFailure.quoted(entry.path)) does not have its size.")
            }
            isFinished = true
        }
        return UnsafeRawBufferPointer(output)[..<step.outputCount].rebased
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var rebased: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self) }
}
