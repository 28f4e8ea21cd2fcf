import AppData
import BackupCore
import SystemIO

/// The plan of a restore, on disk before the restore begins, so that a crash at any point ends in the old state or the new one.
///
/// The database decides: its single transaction also writes a marker with the journal's operation, so after a crash the marker
/// shows whether it was committed. The media follow it: they are staged near their folder, and moved into it one by one after the
/// commit.
package struct RestoreJournal: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Written before the media are staged, and again before the transaction begins.
        case prepared
        /// Written after everything is published: only cleanup is left.
        case published
    }

    var state: State
    /// A random token.
    let operation: String
    /// The dropped file's name, for the report.
    let fileName: String
    /// The safety backup's snapshot.
    var safetySnapshot: SnapshotID?
    /// What was done with the existing data.
    var strategy = ImportStrategy.replace
    var media: Media?

    package struct Media: Sendable, Equatable {
        /// How the staged media are published.
        package enum Kind: String, Sendable {
            /// The staged folder replaces the media folder, which is then at the staging path. Versions 1 and 2 did that.
            case exchange
            /// The staged files replace those in the media folder (`MediaContentExchange`).
            case content
            /// The staged files are added to those of the media folder.
            case addition
        }

        var kind = Kind.content
        /// Without links.
        let path: String
        let stagingPath: String
        /// The staged folder's inode: with `exchange`, it is at `path` after the exchange, at `stagingPath` before; 0 while it is
        /// being filled.
        var stagedInode: UInt64

        /// A folder for files that are in the way and in no backup: beside the staging folder, and named after the same
        /// operation.
        var keptPath: String { MediaFolder.keptPath(of: path, stagingPath: stagingPath) }
    }

    /// Whether the transaction may have begun: not while media are being staged.
    var mayHaveBegun: Bool { media?.stagedInode != 0 }

    private static let magic: [UInt8] = Array("BFSJ".utf8)
    /// Version 1 had only `replace` and exchanges; version 2 no exchange of a folder's content; version 3 no sizes and times in
    /// `StagedEntries`.
    private static let version: UInt16 = 4

    /// Durable when it returns.
    func write(to path: String) throws(BackupError) { try FileSystem.writeFileAtomically(path, encoded()) }

    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(state.rawValue)
        writer.append(operation)
        writer.append(fileName)
        writer.append(safetySnapshot?.hexadecimal ?? "")
        writer.append(media?.path ?? "")
        writer.append(media?.stagingPath ?? "")
        writer.append(media?.stagedInode ?? 0)
        writer.append(strategy.rawValue)
        writer.append(media?.kind.rawValue ?? "")
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }

    /// - Returns: `nil` when there is none.
    /// - Throws: `damagedContent`, `unsupportedVersion`.
    static func read(_ path: String) throws(BackupError) -> RestoreJournal? {
        guard let bytes = try FileSystem.readFileIfPresent(path, limitBytes: 1 << 20) else { return nil }
        do {
            return try decode(bytes)
        } catch let error where error.code == .repositoryDamaged {
            throw error.with(
                .damagedContent, "the journal of an interrupted restore is damaged: \(error.message)", path: path,
                remedy: "Keep a copy of the store, check the app's data, and then remove this file.")
        }
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    package static func decode(_ bytes: [UInt8]) throws(BackupError) -> RestoreJournal {
        guard bytes.count > 10, CRC32.of(Array(bytes.dropLast(4))) == bytes.suffix(4).littleEndianUInt32 else {
            throw BackupError(.repositoryDamaged, "its checksum differs")
        }
        var reader = ByteReader(bytes[..<(bytes.count - 4)])
        guard try reader.readRaw(count: 4).elementsEqual(magic) else {
            throw BackupError(.repositoryDamaged, "it is something else")
        }
        let version = try reader.read(UInt16.self)
        guard (1...Self.version).contains(version) else {
            throw BackupError(.unsupportedVersion, "the journal has version \(version)", remedy: "Use a newer backupfs.")
        }
        guard let state = State(rawValue: try reader.readText()) else {
            throw BackupError(.repositoryDamaged, "its state is unknown")
        }
        let operation = try reader.readText()
        let fileName = try reader.readText()
        let safety = try reader.readText()
        let path = try reader.readText()
        let stagingPath = try reader.readText()
        let inode = try reader.read(UInt64.self)
        let strategyName = version == 1 ? ImportStrategy.replace.rawValue : try reader.readText()
        let kindName = version == 1 ? "" : try reader.readText()
        guard let strategy = ImportStrategy(rawValue: strategyName),
            let kind = kindName.isEmpty ? .exchange : Media.Kind(rawValue: kindName)
        else { throw BackupError(.repositoryDamaged, "its strategy is unknown") }
        return RestoreJournal(
            state: state, operation: operation, fileName: fileName, safetySnapshot: SnapshotID(hexadecimal: safety),
            strategy: strategy,
            media: path.isEmpty ? nil : Media(kind: kind, path: path, stagingPath: stagingPath, stagedInode: inode))
    }
}

extension ArraySlice<UInt8> {
    fileprivate var littleEndianUInt32: UInt32 { reversed().reduce(0) { $0 << 8 | UInt32($1) } }
}
