import BackupCore
import CMedia
import Glibc
import PhotoData

/// The socket to the program, descriptor 0.
enum HelperChannel {
    /// Waits for a request.
    /// - Returns: with its file, which the caller closes (-1 without one); `nil` when the program has closed the socket, or
    ///   sends what is no request.
    static func receive() -> (MediaRequest, descriptor: Int32)? {
        var bytes = [UInt8](repeating: 0, count: MediaProtocol.requestByteCount)
        var descriptor: Int32 = -1
        var count = 0
        while count < bytes.count {
            var received: Int32 = -1
            let added = bytes.withUnsafeMutableBytes { buffer in
                cmedia_receive(buffer.baseAddress.map { $0 + count }, buffer.count - count, &received)
            }
            guard added > 0 else { return nil }
            if received >= 0 {
                if descriptor >= 0 { close(descriptor) }
                descriptor = received
            }
            count += added
        }
        guard let request = try? MediaRequest(decoding: bytes) else { return nil }
        return (request, descriptor)
    }

    /// Sends an answer, or ends the process when the program does not take it.
    static func send(_ answer: MediaAnswer) {
        let bytes = answer.bytes
        var count = 0
        while count < bytes.count {
            let written = bytes.withUnsafeBytes { buffer in
                buffer.baseAddress.map { write(0, $0 + count, buffer.count - count) } ?? -1
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { exit(0) }
            count += written
        }
    }
}
