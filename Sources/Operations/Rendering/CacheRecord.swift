import BackupCore
import SystemIO

/// A small file with what can be computed again: a magic text, a body, and the SHA-256 of both.
enum CacheRecord {
    /// Reads a record.
    /// - Parameters:
    ///   - magic: the text at its start, which names the kind of record and its version.
    ///   - limitBytes: of the whole file.
    /// - Returns: its body; `nil` when there is no such record, or it is damaged.
    static func body(of path: String, magic: [UInt8], limitBytes: Int) -> ArraySlice<UInt8>? {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: limitBytes),
            bytes.count > magic.count + SHA256Digest.byteCount, bytes.starts(with: magic)
        else { return nil }
        let text = bytes.dropLast(SHA256Digest.byteCount)
        guard SHA256Digest(bytes: bytes.suffix(SHA256Digest.byteCount)) == text.withUnsafeBytes({ SHA256Hasher.hash($0) }) else {
            return nil
        }
        return text.dropFirst(magic.count)
    }

    /// Writes a record, and makes its folder if that is missing. After an error there is none.
    static func keep(at path: String, magic: [UInt8], _ body: (inout ByteWriter) -> Void) {
        var writer = ByteWriter()
        writer.append(raw: magic)
        body(&writer)
        writer.append(SHA256Hasher.hash(writer.bytes))
        do throws(BackupError) {
            try FileSystem.makeDirectory(FileSystem.parentPath(path))
            // Worthless after a crash: its checksum then shows that it is not whole.
            try FileSystem.writeForReaders(path, writer.bytes)
        } catch {
            try? FileSystem.removeFile(path)
        }
    }

    /// Removes the records that were written first, if there are more than a number of them.
    static func limit(_ folder: String, count: Int) {
        guard let names = try? FileSystem.names(in: folder), names.count > count else { return }
        let records = names.compactMap { name in
            FileSystem.statusIfPresent("\(folder)/\(name)").map { (path: "\(folder)/\(name)", time: $0.modificationTime) }
        }
        for record in records.sorted(by: { $0.time < $1.time }).dropLast(count) { try? FileSystem.removeFile(record.path) }
    }
}
