import BackupCore
import BackupRepository
import SystemIO

/// A repository's own structures, as an attacker with write access may have changed them: a value or an error, and what was read
/// is written and read again the same.
enum StructureFuzzing {
    /// - Parameter bytes: what ends in a checksum comes without it, since no change of bytes would hit it; whole when it begins
    ///   with a zero.
    static func run(_ structure: StructureProbe, _ bytes: [UInt8]) throws -> FuzzOutcome {
        let input = completed(structure, bytes)
        do {
            guard let found = try structure.reread(input) else { return .refused(.invalidContent) }
            let again = try structure.reread(found.bytes)
            try FuzzViolation.require(
                again?.description == found.description && again?.bytes == found.bytes,
                "\(found.description) became \(again?.description ?? "nothing")")
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, [.repositoryDamaged, .unsupportedVersion, .invalidContent])
        }
    }

    private static func completed(_ structure: StructureProbe, _ bytes: [UInt8]) -> [UInt8] {
        if bytes.first == 0 { return Array(bytes.dropFirst()) }
        switch structure {
        case .label, .source, .register: return bytes + withUnsafeBytes(of: CRC32.of(bytes).littleEndian) { Array($0) }
        case .configCopy:
            return Array("backupfs-config-copy\nsha256: \(SHA256Hasher.hash(bytes).hexadecimal)\n".utf8) + bytes
        case .packIndex where bytes.first == 1: return [0] + bytes.dropFirst()
        default: return bytes
        }
    }
}
