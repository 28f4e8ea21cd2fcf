import COpenSSL

/// An algorithm that is fetched once: OpenSSL 3 searches its providers at every use of `EVP_sha256()` and similar calls, which costs more than hashing
/// a small file.
///
/// `@unchecked Sendable`: OpenSSL never changes an object that it has returned (EVP_MD_fetch(3)).
public final class DigestAlgorithm: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ name: String) {
        guard let pointer = EVP_MD_fetch(nil, name, nil) else { fatalError("OpenSSL lacks a digest this program needs: \(name)") }
        self.pointer = pointer
    }

    deinit { EVP_MD_free(pointer) }
}
