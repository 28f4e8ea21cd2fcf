import BackupCore
import BackupRepository
import SystemIO

/// The warnings of the newest backup, for a later status: `backup.warnings` in the store. Messages are kept as such, since the status may be shown in
/// another language.
struct BackupWarningRecord {
    private static let magic: [UInt8] = Array("bfswarn\n".utf8)
    private static let version: UInt16 = 1
    /// A backup is held for each one that a rule would remove: more than these nobody reads.
    private static let countLimit = 100
    private static let byteCountLimit = 1 << 20

    let path: String

    /// - Parameter warnings: none removes those of the backup before.
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

    /// - Returns: what was written of that snapshot; nothing when it was of another one, or cannot be read.
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

    /// Tells the log and the status what a backup has to say, or that it has nothing. For the holder of the operation lock.
    func rememberWarnings(of result: BackupResult, isAutomatic: Bool) {
        // That files could not be read stands in the line of the backup itself.
        for warning in result.warnings { log.note(warning, of: result.snapshot, isAutomatic: isAutomatic) }
        // The backup is there; what is to be said of it makes it no failure.
        try? warningRecord.write(result.notices, of: result.snapshot.id)
    }

    /// What a backup had to say, if it was the last one that was made.
    func warnings(of snapshot: Snapshot) -> [Message] { warningRecord.warnings(of: snapshot.id) }
}
