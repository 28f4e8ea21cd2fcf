import BackupCore

/// Computes the digests of one algorithm, of one file after another, as bytes.
struct ChecksumHasher: ~Copyable {
    private let algorithm: HashAlgorithm
    private var digester: FileDigester

    init(_ algorithm: HashAlgorithm) {
        self.algorithm = algorithm
        digester = FileDigester([algorithm])
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { digester.update(bytes) }

    /// Of the bytes since the last call.
    mutating func finish() -> [UInt8] { digester.finish().bytes(algorithm) ?? [] }
}
