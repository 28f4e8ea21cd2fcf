import COpenSSL

/// A cipher that was looked up once, for the reason that `DigestAlgorithm` gives.
///
/// `@unchecked Sendable`: OpenSSL never changes what it has handed out (EVP_CIPHER_fetch(3)).
final class CipherAlgorithm: @unchecked Sendable {
    static let aes256GCM = CipherAlgorithm("AES-256-GCM")

    let pointer: OpaquePointer

    private init(_ name: String) {
        guard let pointer = EVP_CIPHER_fetch(nil, name, nil) else {
            fatalError("OpenSSL lacks a cipher this program needs: \(name)")
        }
        self.pointer = pointer
    }

    deinit { EVP_CIPHER_free(pointer) }
}
