import AppData
import BackupCore
import Glibc
import SystemIO

/// Writes collections as CSV for spreadsheets (RFC 4180): UTF-8, a header line, CR LF line endings, quotes only where needed. A
/// null is an empty field, an empty text is `""`. Texts are not changed, even if a spreadsheet would interpret a leading `=`.
public struct CSVWriter {
    public init() {}

    /// Writes one file per collection, `NAME.csv`, into a folder, which is created if missing. Each file is complete before it
    /// gets its name; files of the same name are replaced.
    /// - Returns: the written paths with their record counts.
    public func write(
        _ snapshot: DatabaseSnapshot, toFolder folder: String
    ) throws(BackupError) -> [(path: String, count: Int)] {
        try FileSystem.makeDirectories(folder)
        var written: [(path: String, count: Int)] = []
        for (index, collection) in snapshot.definition.collections.enumerated() where collection.source != .manifest {
            let path = "\(folder)/\(collection.name).csv"
            let temporary = "\(path).tmp-\(RandomToken.make())"
            do throws(BackupError) {
                let descriptor = try OwnedDescriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600)
                let count = try write(snapshot, collection: index, to: descriptor)
                try descriptor.synchronize()
                try FileSystem.rename(temporary, to: path)
                written.append((path, count))
            } catch {
                _ = unlink(temporary)
                throw error
            }
        }
        return written
    }

    /// Writes one collection at the descriptor's position.
    /// - Returns: the number of records
    @discardableResult
    public func write(
        _ snapshot: DatabaseSnapshot, collection index: Int, to descriptor: borrowing OwnedDescriptor
    ) throws(BackupError) -> Int {
        let fields = snapshot.definition.collections[index].fields
        let number = descriptor.rawValue
        let path = descriptor.path
        // The buffer stores its receiver, which cannot capture a borrowed descriptor: this is a copy of the number, used only in
        // this call.
        let output = OutputBuffer { (bytes) throws(BackupError) in try Self.writeAll(bytes, number, path) }
        for (column, field) in fields.enumerated() {
            if column > 0 { try output.append(UInt8(ascii: ",")) }
            try Self.text(Array(field.name.utf8), to: output)
        }
        try output.append("\r\n")
        var count = 0
        try snapshot.forEachRecord(of: index) { (record) throws(BackupError) in
            for column in 0..<fields.count {
                if column > 0 { try output.append(UInt8(ascii: ",")) }
                try Self.value(record, column, to: output)
            }
            try output.append("\r\n")
            count += 1
        }
        try output.flush()
        return count
    }

    private static func writeAll(_ bytes: UnsafeRawBufferPointer, _ number: Int32, _ path: String) throws(BackupError) {
        guard let base = bytes.baseAddress else { return }
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(number, base + done, bytes.count - done)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemCall.error(errno, action: "write", path: path)
            }
            done += count
        }
    }

    private static func value(_ record: RecordBuffer, _ index: Int, to output: OutputBuffer) throws(BackupError) {
        switch record.kind(index) {
        case .missing, .null, .array, .object: break
        case .integer: try output.append(record.integer(index))
        case .real: try output.append(record.real(index).description)
        case .boolean: try output.append(record.boolean(index) ? "true" : "false")
        case .text, .number: try text(record.bytes(index), to: output)
        case .blob: try output.append(Hexadecimal.encode(record.bytes(index)))
        }
    }

    private static func text(_ bytes: some Collection<UInt8>, to output: OutputBuffer) throws(BackupError) {
        let needsQuotes = bytes.isEmpty || bytes.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
        if needsQuotes { try output.append(UInt8(ascii: "\"")) }
        for byte in bytes {
            if byte == 0x22 { try output.append(byte) }
            try output.append(byte)
        }
        if needsQuotes { try output.append(UInt8(ascii: "\"")) }
    }
}
