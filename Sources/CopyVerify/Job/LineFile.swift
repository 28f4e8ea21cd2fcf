import BackupCore
import SystemIO

/// Reads a file of lines, of any length, a part at a time.
struct LineFile: ~Copyable {
    private let partByteCount: Int
    private let lineLimitBytes: Int
    private let file: SharedFile
    private var buffer: [UInt8] = []
    private var position = 0
    private var fileOffset: UInt64 = 0

    /// Where the next line begins.
    private(set) var offset: UInt64

    init(
        path: String, from offset: UInt64 = 0, partByteCount: Int = 256 << 10, lineLimitBytes: Int = .max
    ) throws(BackupError) {
        self.init(
            try SharedFile(path: path), from: offset, partByteCount: partByteCount, lineLimitBytes: lineLimitBytes)
    }

    /// - Parameter lineLimitBytes: for files of strangers.
    init(_ file: SharedFile, from offset: UInt64 = 0, partByteCount: Int = 256 << 10, lineLimitBytes: Int = .max) {
        self.file = file
        self.lineLimitBytes = lineLimitBytes
        self.partByteCount = partByteCount
        self.offset = offset
        fileOffset = offset
    }

    /// The next line that ends with a line feed, without it; `nil` at the end, also when a line without one follows.
    /// - Throws: `tooLarge` for a line over the limit.
    mutating func next() throws(BackupError) -> ArraySlice<UInt8>? {
        while true {
            if let end = buffer[position...].firstIndex(of: 10) {
                let line = buffer[position..<end]
                try requireShort(line.count)
                offset += UInt64(line.count + 1)
                position = end + 1
                return line
            }
            buffer.removeFirst(position)
            position = 0
            try requireShort(buffer.count)
            let part = try file.bytes(at: fileOffset, upTo: partByteCount)
            if part.isEmpty { return nil }
            fileOffset += UInt64(part.count)
            buffer += part
        }
    }

    private func requireShort(_ byteCount: Int) throws(BackupError) {
        guard byteCount > lineLimitBytes else { return }
        throw BackupError(.invalidContent, "a line is too long", path: file.path)
    }

    /// The next line, also a last one without a line feed.
    mutating func nextOrRest() throws(BackupError) -> ArraySlice<UInt8>? {
        if let line = try next() { return line }
        return try rest()
    }

    /// After the last line, what follows it without a line feed; `nil` when nothing does.
    mutating func rest() throws(BackupError) -> ArraySlice<UInt8>? {
        guard position < buffer.count else { return nil }
        defer { position = buffer.count }
        offset += UInt64(buffer.count - position)
        return buffer[position...]
    }
}
