import BackupCore

/// The purpose of a sealed structure. It is authenticated with the sealed bytes, so that none can be used in another's place.
enum SealedStructure {
    case packIndex(header: [UInt8])
    case snapshotRecord
    case snapshotLabel(SnapshotID)
    case source(SourceID)
    case register

    /// Sealed files start with it. An index is inside a pack, whose header says that it is sealed.
    static let fileMagic: [UInt8] = Array("bfsseal\n".utf8)

    var name: String {
        switch self {
        case .packIndex: "pack's index"
        case .snapshotRecord: "snapshot record"
        case .snapshotLabel: "snapshot label"
        case .source: "source document"
        case .register: "register of snapshots"
        }
    }

    var magic: [UInt8] {
        switch self {
        case .packIndex: []
        case .snapshotRecord, .snapshotLabel, .source, .register: Self.fileMagic
        }
    }

    var associatedData: [UInt8] {
        switch self {
        case .packIndex(let header): Array("backupfs pack index".utf8) + header
        case .snapshotRecord: Array("backupfs snapshot record".utf8)
        case .snapshotLabel(let snapshot): Array("backupfs snapshot label".utf8) + snapshot.digest.bytes
        case .source(let source): Array("backupfs source document".utf8) + Array(source.hexadecimal.utf8)
        case .register: Array("backupfs register".utf8)
        }
    }
}
