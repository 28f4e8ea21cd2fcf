import BackupCore
import SystemIO

/// Lists the snapshots that a repository should have, and which of them have a label, so that a lost record or label is noticed. It does not decide what may be
/// removed, and nothing is ever removed because of it.
///
/// A snapshot is added after it appeared, and deleted before it is removed permanently. A crash in between leaves a snapshot that is not in the register, which
/// is not a finding, and never one that is missing.
struct SnapshotRegister: Equatable, Sendable {
    private static let magic: [UInt8] = Array("bfsregi\n".utf8)
    private static let version: UInt16 = 1
    private static let labelledFlag: UInt8 = 1
    static let byteCountLimit = 256 << 20

    /// The snapshots, and whether each has a label.
    private(set) var isLabelled: [SnapshotID: Bool] = [:]

    init() {}

    mutating func enter(_ snapshots: some Sequence<SnapshotID>) {
        for snapshot in snapshots where isLabelled[snapshot] == nil { isLabelled[snapshot] = false }
    }

    mutating func enterLabel(of snapshot: SnapshotID) { isLabelled[snapshot] = true }

    mutating func strikeOut(_ snapshots: some Sequence<SnapshotID>) {
        for snapshot in snapshots { isLabelled[snapshot] = nil }
    }

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(UInt16(0))
        writer.append(UInt32(isLabelled.count))
        for (snapshot, isLabelled) in isLabelled.sorted(by: { $0.key < $1.key }) {
            writer.append(snapshot.digest)
            writer.append(isLabelled ? Self.labelledFlag : 0)
        }
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`; `unsupportedVersion`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: Self.magic, version: Self.version, name: "register of snapshots")
        let count = Int(try reader.read(UInt32.self))
        guard reader.remainingCount == count * (SHA256Digest.byteCount + 1) + 4 else { throw Self.damaged }
        var last: SnapshotID?
        for _ in 0..<count {
            let snapshot = SnapshotID(try reader.readDigest())
            let flags = try reader.read(UInt8.self)
            if flags & ~Self.labelledFlag != 0, StructureHeader.endsWithChecksum(bytes) {
                throw StructureHeader.unknown("the register of snapshots has flags that this program does not know")
            }
            guard flags & ~Self.labelledFlag == 0, last.map({ $0 < snapshot }) ?? true else { throw Self.damaged }
            isLabelled[snapshot] = flags & Self.labelledFlag != 0
            last = snapshot
        }
        let checkedCount = bytes.count - reader.remainingCount
        guard try reader.read(UInt32.self) == CRC32.of(Array(bytes[..<checkedCount])), reader.isAtEnd else { throw Self.damaged }
    }

    private static var damaged: BackupError { BackupError(.repositoryDamaged, "the register of snapshots is damaged") }
}
