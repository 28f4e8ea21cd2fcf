import BackupCore
import BackupRepository
import SystemIO

/// The warnings of the newest backup, for a later status: `backup.warnings` in the store. Stores messages untranslated, since the
/// status may use another language.
struct BackupWarningRecord {
    private static let magic: [UInt8] = Array("bfswarn\n".utf8)
    private static let version: UInt16 = 1
    /// A rule can hold many backups with a warning each; more than this number are not read by anyone.
    private static let countLimit = 100
    private static let byteCountLimit = 1 << 20

    let path: String

    /// - Parameter warnings: an empty list removes those of the previous backup.
    func write(_ warnings: [Message], of snapshot: SnapshotID) throws(BackupError) {
        guard !warnings.isEmpty else {
            if try FileSystem.exists(path) { try FileSystem.removeFile(path) }
            return
        }
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(snapshot.hexadecimal)
        let kept = warnings.prefix(Self.countLimit)
        writer.append(UInt32(kept.count))
        for warning in kept { writer.append(warning) }
        try FileSystem.writeFileAtomically(path, writer.bytes)
    }

    /// - Returns: the warnings written for that snapshot; empty if they are another snapshot's or unreadable.
    func warnings(of snapshot: SnapshotID) -> [Message] {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: Self.byteCountLimit) else { return [] }
        return (try? Self.decode(bytes, of: snapshot)) ?? []
    }

    private static func decode(_ bytes: [UInt8], of snapshot: SnapshotID) throws(BackupError) -> [Message] {
        var reader = ByteReader(bytes)
        guard try reader.readRaw(count: magic.count).elementsEqual(magic), try reader.read(UInt16.self) == version,
            try reader.readText() == snapshot.hexadecimal
        else { return [] }
        var warnings: [Message] = []
        for _ in 0..<min(Int(try reader.read(UInt32.self)), countLimit) { warnings.append(try reader.readMessage()) }
        return warnings
    }
}

extension Store {
    private var warningRecord: BackupWarningRecord { BackupWarningRecord(path: paths.backupWarnings) }

    /// Passes a backup's warnings, or their absence, to the log and the status. For the holder of the operation lock.
    func recordWarnings(of result: BackupResult, isAutomatic: Bool) {
        // The log line of the backup itself already reports unreadable files.
        for warning in result.warnings { log.note(warning, of: result.snapshot, isAutomatic: isAutomatic) }
        // The backup exists; failing to save its warnings is not a failure of the backup.
        try? warningRecord.write(result.notices, of: result.snapshot.id)
    }

    /// The warnings of a backup, if it was the last one made.
    func warnings(of snapshot: Snapshot) -> [Message] { warningRecord.warnings(of: snapshot.id) }
}
