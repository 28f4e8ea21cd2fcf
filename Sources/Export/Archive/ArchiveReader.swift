import BackupCore
import SystemIO

/// Reads archives that anybody may have made. It accepts only archives that every program reads in the same way: where two
/// readers could find different files, it refuses.
///
/// Opening reads all headers and no content; memory grows with the number of entries only.
public struct ArchiveReader: Sendable {
    private static let bufferSizeBytes = 256 << 10
    private static let warningCountLimit = 20

    private let source: any ByteSource
    private let directory: ArchiveDirectory
    /// What is accepted, but should be said: names that differ only in case or in how accents are written.
    public let warnings: [Message]

    /// Opens a ZIP archive.
    ///
    /// Driven by the central directory, so entries that were streamed (java.util.zip) are read too. ZIP64 is read; methods are
    /// "stored" and "deflated". Refused are encryption, split archives, anything in front of the first entry, between entries or
    /// behind the end, overlapping entries, headers that contradict each other, two entries of one name, entries below a file,
    /// devices, links and names with a backslash unless `ArchiveLimits` accepts them, and names that are absolute, contain `..`, `.`, an
    /// empty component or a NUL byte.
    /// - Parameters:
    ///   - size: length of the archive in bytes.
    ///   - readsAhead: whether more is read than the headers have. Not where contents cost more to read than headers, and may be damaged.
    /// - Throws: `invalidContent` for what is not a ZIP archive, and for an archive with something that is never accepted;
    ///   `damagedContent` for one that is cut off or contradicts itself; `tooLarge` over a limit. The first finding says
    ///   exactly what is wrong.
    public init(
        zip source: any ByteSource, size: UInt64, limits: ArchiveLimits, readsAhead: Bool = true
    ) throws(BackupError) {
        var window = ArchiveWindow(source, size: size, lengthBytes: readsAhead ? Self.bufferSizeBytes : 0)
        let end = try ZIPEndRecord(&window)
        var directory = try ZIPDirectory(&window, end, limits: limits)
        // Local headers are far apart when the files are large.
        let isDense = size / UInt64(max(1, directory.headers.count)) < 4_096
        var headers = ZIPLocalHeaders(
            ArchiveWindow(source, size: size, lengthBytes: !readsAhead ? 0 : isDense ? Self.bufferSizeBytes : 512), end)
        try headers.check(&directory)
        self.init(source, directory.entries)
    }

    /// Opens a tar archive: POSIX.1-1988 (ustar) and POSIX.1-2001 (pax), and GNU's long names.
    ///
    /// Refused are compressed archives, hard links, devices, sparse files, archives without an end, bytes behind it, and all names that are refused
    /// in a ZIP archive.
    /// - Parameters:
    ///   - size: length of the archive in bytes.
    ///   - readsAhead: whether more is read than the headers have. Not where contents cost more to read than headers, and may be damaged.
    /// - Throws: as for a ZIP archive.
    public init(
        tar source: any ByteSource, size: UInt64, limits: ArchiveLimits, readsAhead: Bool = true
    ) throws(BackupError) {
        self.init(source, try TARDirectory(source, size: size, limits: limits, readsAhead: readsAhead).entries)
    }

    /// Whether a file that begins with these 512 bytes is a tar archive.
    public static func isTAR(_ start: ArraySlice<UInt8>) -> Bool { TARHeaderFields.isHeader(start) }

    private init(_ source: any ByteSource, _ directory: ArchiveDirectory) {
        self.source = source
        self.directory = directory
        warnings = Self.collisions(in: directory)
    }

    /// What all entries unpack to.
    public var unpackedSizeBytes: UInt64 { directory.totalSizeBytes }

    /// All entries, in the archive's order.
    /// - Parameter strippingCommonFolder: leaves out the one folder that everything is in, if there is one: some programs put
    ///   a folder into an archive and others its content.
    public func entries(strippingCommonFolder: Bool = false) -> ArchiveEntryList {
        guard strippingCommonFolder, let folder = commonLeadingFolder else {
            return ArchiveEntryList(directory: directory, prefixCount: 0, omittedIndex: nil)
        }
        return ArchiveEntryList(directory: directory, prefixCount: folder.count, omittedIndex: directory.index(of: folder))
    }

    /// The folder that every entry is in, with its slash; `nil` when there is none or nothing is in it.
    public var commonLeadingFolder: [UInt8]? {
        guard let first = directory.records.first else { return nil }
        let name = directory.name(of: first)
        guard let slash = name.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let folder = name[...slash]
        guard directory.records.allSatisfy({ directory.name(of: $0).starts(with: folder) }),
            directory.records.contains(where: { Int($0.nameLength) > folder.count })
        else { return nil }
        return Array(folder)
    }

    /// The entry of exactly this path.
    public func entry(_ path: String) -> ArchiveEntry? {
        directory.index(of: Array(path.utf8)).map { entries()[$0] }
    }

    /// Unpacks one entry in bounded memory. The bytes are proven only when this returns: whoever takes them must be able to
    /// throw them away.
    /// - Parameter sink: is given the content in order, never more than the entry's size; its errors are passed on.
    /// - Throws: `damagedContent` when data, size or CRC do not agree; `inputOutput`.
    public func extract(
        _ entry: ArchiveEntry, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let crc = entry.isDeflated ? try inflate(entry, to: sink) : try copy(entry, to: sink)
        guard crc == entry.crc32 ?? crc else {
            throw ArchiveFailure.damaged("The content of \(ArchiveFailure.quoted(entry.path)) does not have its CRC.")
        }
    }

    /// A small entry as a whole.
    /// - Throws: as `extract(_:to:)`; `tooLarge` when it has more than `limitBytes`.
    public func content(of entry: ArchiveEntry, limitBytes: Int = 16 << 20) throws(BackupError) -> [UInt8] {
        guard entry.size <= UInt64(limitBytes) else {
            throw ArchiveFailure.tooLarge(
                "\(ArchiveFailure.quoted(entry.path)) has \(entry.size) bytes, more than \(limitBytes).")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(entry.size))
        try extract(entry) { (part) throws(BackupError) in bytes.append(contentsOf: part) }
        return bytes
    }

    /// - Returns: the CRC-32 of what was given to `sink`.
    private func copy(
        _ entry: ArchiveEntry, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> UInt32 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSizeBytes, alignment: 16)
        defer { buffer.deallocate() }
        var crc: UInt32 = 0
        var position: UInt64 = 0
        while position < entry.size {
            let count = Int(min(UInt64(buffer.count), entry.size - position))
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try ArchiveWindow.fill(part, from: source, at: entry.dataOffset + position)
            crc = CRC32.update(crc, UnsafeRawBufferPointer(part))
            try sink(UnsafeRawBufferPointer(part))
            position += UInt64(count)
        }
        return crc
    }

    private func inflate(
        _ entry: ArchiveEntry, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> UInt32 {
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSizeBytes, alignment: 16)
        defer { input.deallocate() }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSizeBytes, alignment: 16)
        defer { output.deallocate() }
        var inflater = Inflater()
        var pending = UnsafeRawBufferPointer(input)[..<0]
        var readCount: UInt64 = 0
        var producedCount: UInt64 = 0
        var crc: UInt32 = 0
        while true {
            if pending.isEmpty, readCount < entry.compressedSize {
                let count = Int(min(UInt64(input.count), entry.compressedSize - readCount))
                let part = UnsafeMutableRawBufferPointer(rebasing: input[..<count])
                try ArchiveWindow.fill(part, from: source, at: entry.dataOffset + readCount)
                readCount += UInt64(count)
                pending = UnsafeRawBufferPointer(input)[..<count]
            }
            // One byte more than may come, so that too much is noticed without being unpacked.
            let room = Int(min(UInt64(output.count), entry.size - producedCount + 1))
            let step = inflater.step(
                input: UnsafeRawBufferPointer(rebasing: pending),
                output: UnsafeMutableRawBufferPointer(rebasing: output[..<room]))
            guard let step, UInt64(step.outputCount) <= entry.size - producedCount,
                step.isFinished || step.inputCount > 0 || step.outputCount > 0
            else { throw ArchiveFailure.damaged("The compressed data of \(ArchiveFailure.quoted(entry.path)) is damaged.") }
            pending = pending.dropFirst(step.inputCount)
            let part = UnsafeRawBufferPointer(rebasing: output[..<step.outputCount])
            producedCount += UInt64(step.outputCount)
            crc = CRC32.update(crc, part)
            if !part.isEmpty { try sink(part) }
            guard step.isFinished else { continue }
            guard pending.isEmpty, readCount == entry.compressedSize, producedCount == entry.size else {
                throw ArchiveFailure.damaged(
                    "The compressed data of \(ArchiveFailure.quoted(entry.path)) does not have its size.")
            }
            return crc
        }
    }

    /// Names that are one and the same on other systems. Only hashes are kept: a false alarm is a matter of 1 in 10^7 for a
    /// million names, and only a warning.
    private static func collisions(in directory: ArchiveDirectory) -> [Message] {
        var seen = Set<Int>(minimumCapacity: directory.records.count)
        var warnings: [Message] = []
        for record in directory.records {
            let name = directory.name(of: record)
            // Swift's strings are equal when they are canonically equivalent.
            if seen.insert(String(decoding: name, as: UTF8.self).lowercased().hashValue).inserted { continue }
            guard warnings.count < warningCountLimit else { break }
            let shown = ArchiveFailure.quoted(name)
            warnings.append("The name \(shown) differs from another one only in case or in how accents are written.")
        }
        return warnings
    }
}
