import BackupCore
import Glibc
import SystemIO

/// A file, or a pipe such as `/dev/stdin` or a shell's `<(…)`, whose first line is a password.
enum PasswordFile {
    static let byteCountLimit = 4096

    /// - Throws: `usage` when the first line is empty or too long; `notFound` and so on.
    static func read(_ path: String) throws(BackupError) -> SecretBytes {
        ProcessSecrecy.begin()
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var count = 0
        var failure: Int32 = 0
        let line = try SecretBytes(count: byteCountLimit + 1) { (buffer) throws(BackupError) in
            // A pipe delivers what is available, so read until the line ends.
            while count < buffer.count, !buffer[..<count].contains(UInt8(ascii: "\n")) {
                let result = Glibc.read(descriptor.rawValue, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if result < 0, errno == EINTR { continue }
                if result < 0 { failure = errno }
                if result <= 0 { return }
                count += result
            }
        }
        if failure != 0 { throw SystemCall.error(failure, action: "read the password", path: path) }
        return try line.withUnsafeBytes { (bytes) throws(BackupError) in
            var first = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            if let end = first.firstIndex(of: UInt8(ascii: "\n")) { first = UnsafeRawBufferPointer(rebasing: first[..<end]) }
            // Other systems' editors end lines this way.
            if first.last == UInt8(ascii: "\r") { first = UnsafeRawBufferPointer(rebasing: first.dropLast()) }
            guard !first.isEmpty, first.count <= byteCountLimit else {
                throw BackupError(
                    .usage,
                    first.isEmpty
                        ? "the password file's first line is empty" : "the password is longer than \(byteCountLimit) bytes",
                    path: path, remedy: "The file's first line is the password.")
            }
            return SecretBytes(copying: first)
        }
    }
}
