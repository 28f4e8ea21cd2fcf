import BackupCore
import COpenSSL

/// The three calls of OpenSSL's digest interface. They fail only when memory is exhausted or a digest is not built in.
/// Neither can be handled without a risk to data, so they stop the program.
enum DigestContext {
    static func make(_ algorithm: DigestAlgorithm) -> OpaquePointer {
        guard let context = EVP_MD_CTX_new() else { fatalError("OpenSSL could not allocate a digest context") }
        restart(context, algorithm)
        return context
    }

    static func restart(_ context: OpaquePointer, _ algorithm: DigestAlgorithm) {
        guard EVP_DigestInit_ex(context, algorithm.pointer, nil) == 1 else {
            fatalError("OpenSSL lacks a digest this program needs")
        }
    }

    static func update(_ context: OpaquePointer, _ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { fatalError("OpenSSL could not hash") }
    }

    static func finish<Digest: ByteDigest>(_ context: OpaquePointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Int(EVP_MAX_MD_SIZE), alignment: 8) { buffer in
            var count: UInt32 = 0
            let address = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_DigestFinal_ex(context, address, &count) == 1, Int(count) == Digest.byteCount else {
                fatalError("OpenSSL could not finish a digest")
            }
            return Digest(exactBytes: UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
        }
    }
}
