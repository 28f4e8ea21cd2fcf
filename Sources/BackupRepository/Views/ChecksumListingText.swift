import BackupCore

/// `SHA256SUMS` and `MD5SUMS` of a stored folder: every stored file below it, in the order of the directory objects.
extension ChecksumListing {
    public enum Algorithm: Sendable {
        case md5
        case sha256

        var digestHexLength: Int {
            switch self {
            case .md5: MD5Digest.byteCount * 2
            case .sha256: SHA256Digest.byteCount * 2
            }
        }

        func hexadecimal(_ checksums: Checksums) -> String {
            switch self {
            case .md5: checksums.md5.hexadecimal
            case .sha256: checksums.sha256.hexadecimal
            }
        }
    }

    /// The listing's size in bytes, computed only from the folder's totals.
    public static func sizeBytes(of root: Directory, _ algorithm: Algorithm) -> UInt64 {
        root.totals.listingSizeBytes(digestHexLength: algorithm.digestHexLength)
    }

    /// The listing itself; reads the directory objects, but no files.
    /// - Throws: `repositoryDamaged`.
    public static func text(
        of root: Directory, _ algorithm: Algorithm, in repository: Repository
    ) throws(BackupError) -> [UInt8] {
        var text: [UInt8] = []
        // A hostile repository may claim any size, so the reservation is limited.
        text.reserveCapacity(Int(min(sizeBytes(of: root, algorithm), reservedByteLimit)))
        try append(root, prefix: [], algorithm, repository, to: &text)
        return text
    }

    private static let reservedByteLimit: UInt64 = 1 << 20

    private static func append(
        _ directory: Directory, prefix: [UInt8], _ algorithm: Algorithm, _ repository: Repository, to text: inout [UInt8]
    ) throws(BackupError) {
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .symbolicLink: continue
            case .directory:
                try append(
                    repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], algorithm, repository, to: &text)
            case .file:
                guard let checksums = entry.checksums else { continue }
                text.append(contentsOf: line(digest: algorithm.hexadecimal(checksums), path: path))
            }
        }
    }
}
