import BackupCore
import Glibc
import SystemIO

/// Appends text to a file that it owns.
final class BufferedOutput {
    private static let limitBytes = 1 << 20

    private let file: OwnedDescriptor
    private var pending: [UInt8] = []

    init(_ file: consuming OwnedDescriptor) { self.file = file }

    /// - Parameters:
    ///   - path: of the file; an earlier one is replaced.
    ///   - permissions: of the file, as far as the umask leaves them.
    convenience init(making path: String, permissions: mode_t = 0o600) throws(BackupError) {
        try FileSystem.removeFile(path)
        self.init(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: permissions))
    }

    func add(_ bytes: some Collection<UInt8>) throws(BackupError) {
        pending += bytes
        if pending.count > Self.limitBytes { try flush() }
    }

    func add(_ text: String) throws(BackupError) { try add(text.utf8) }

    /// Appends a whole file.
    func add(contentOf path: String) throws(BackupError) {
        let source = try SharedFile(path: path)
        var offset: UInt64 = 0
        while true {
            let part = try source.bytes(at: offset, upTo: Self.limitBytes)
            if part.isEmpty { return }
            offset += UInt64(part.count)
            try add(part)
        }
    }

    /// For a program that writes into it by itself.
    func withDescriptor<Result>(
        _ body: (borrowing OwnedDescriptor) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try flush()
        return try body(file)
    }

    func flush() throws(BackupError) {
        try file.writeAll(pending)
        pending = []
    }

    /// Makes all of it durable.
    func synchronize() throws(BackupError) {
        try flush()
        try file.synchronize()
    }
}
