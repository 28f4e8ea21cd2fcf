import BackupCore
import Glibc

/// The input of this program from a pipe or a redirection.
public enum StandardInput {
    private static let bufferSizeBytes = 1 << 20

    /// Copies all of it to a file; returns at its end.
    public static func copy(to file: borrowing OwnedDescriptor) throws(BackupError) {
        var buffer = [UInt8](repeating: 0, count: bufferSizeBytes)
        while true {
            let count = try SystemCall.check("read", "standard input") { read(STDIN_FILENO, &buffer, buffer.count) }
            if count == 0 { return }
            try buffer.withUnsafeBytesThrowing { (bytes) throws(BackupError) in
                try file.writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            }
        }
    }
}
