import COpenSSL

/// A cipher that is fetched once, for the reason given in `DigestAlgorithm`.
///
/// `@unchecked Sendable`: OpenSSL never changes an object that it has returned (EVP_CIPHER_fetch(3)).
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
