import AppData
import BackupCore
import BackupRepository
import Formats
import SnapshotFormats
import SystemIO

/// What is known of a snapshot's rendered export without its text: sizes, CRC-32, and where its collections are. Kept on
/// disk, so that a mount renders an export only for a program that reads it. It is a cache.
struct RenderedFacts: Equatable {
    /// A collection in the export.
    struct Collection: Equatable {
        let name: String
        /// In the export, in bytes.
        let range: Range<UInt64>
        let crc32: UInt32
    }

    /// Of the export.
    let sizeBytes: UInt64
    let crc32: UInt32
    let collections: [Collection]
    /// As in `ManifestNaming.text`.
    let naming: String?
    /// Of the snapshot with the export; `nil` before they are measured.
    var archiveSizes: ArchiveSizes?

    private static let magic = Array("backupfs rendered export 1\n".utf8)
    private static let limitBytes = 16 << 20
    /// Of records in a folder, most of which take a block of the file system.
    private static let countLimit = 16_384

    /// Whether a rendering has the same bytes, as far as these say.
    func isSameText(as other: RenderedFacts) -> Bool {
        sizeBytes == other.sizeBytes && crc32 == other.crc32 && collections == other.collections && naming == other.naming
    }

    /// - Parameter source: the bytes of a range of the export.
    func files(
        of snapshot: Snapshot, _ layout: ArchivePathMap, _ source: (Range<UInt64>) -> any ByteSource
    ) throws(BackupError) -> RenderedFiles {
        func file(_ range: Range<UInt64>, _ crc32: UInt32) -> RenderedFiles.File {
            RenderedFiles.File(source(range), sizeBytes: UInt64(range.count), crc32: crc32)
        }
        return try RenderedFiles(
            of: snapshot, export: file(0..<sizeBytes, crc32),
            collections: collections.map { ($0.name, file($0.range, $0.crc32)) }, layout: layout,
            naming: naming.flatMap { ManifestNaming($0) }, archiveSizes: archiveSizes)
    }

    /// Everything that the bytes and the sizes depend on: the snapshot's content and time, the app's definition, and this
    /// program's way of rendering and of laying out archives.
    static func key(of snapshot: Snapshot, _ definition: AppDefinition) -> SHA256Digest {
        var writer = ByteWriter()
        writer.append(raw: magic)
        writer.append(UInt32(AppRendering.renderingVersion))
        writer.append(ZIPLayout.version)
        writer.append(TARLayout.version)
        writer.append(definition.digest)
        writer.append(snapshot.record.root.content.fingerprint)
        writer.append(snapshot.creationTime)
        return SHA256Hasher.hash(writer.bytes)
    }

    private static func path(_ key: SHA256Digest, in folder: String) -> String { "\(folder)/\(key.hexadecimal)" }
}

// MARK: - On disk

extension RenderedFacts {
    /// Reads the record.
    /// - Returns: `nil` when there is none, or it is damaged.
    init?(_ key: SHA256Digest, in folder: String) {
        let path = Self.path(key, in: folder)
        guard let body = CacheRecord.body(of: path, magic: Self.magic, limitBytes: Self.limitBytes),
            let facts = try? Self(decoding: body, key)
        else { return nil }
        self = facts
    }

    private init(decoding bytes: ArraySlice<UInt8>, _ key: SHA256Digest) throws(BackupError) {
        var reader = ByteReader(bytes)
        let damage = BackupError(.damagedContent, .verbatim("a record of a rendered export is not one"))
        guard try reader.readDigest(SHA256Digest.self) == key else { throw damage }
        sizeBytes = try reader.read()
        crc32 = try reader.read()
        let text = try reader.readText()
        naming = text.isEmpty ? nil : text
        archiveSizes = ArchiveSizes(zip: try reader.read(), tar: try reader.read(), memberCount: try reader.read())
        let count = Int(try reader.read(UInt32.self))
        var collections: [Collection] = []
        for _ in 0..<count {
            let name = try reader.readText()
            let (start, end) = (try reader.read(UInt64.self), try reader.read(UInt64.self))
            guard start <= end, end <= sizeBytes else { throw damage }
            collections.append(.init(name: name, range: start..<end, crc32: try reader.read()))
        }
        guard reader.isAtEnd else { throw damage }
        self.collections = collections
    }

    /// Keeps the record. If that fails, the next mount renders the export once more.
    func keep(_ key: SHA256Digest, in folder: String) {
        guard let archiveSizes else { return }
        CacheRecord.keep(at: Self.path(key, in: folder), magic: Self.magic) { writer in
            writer.append(key)
            writer.append(sizeBytes)
            writer.append(crc32)
            writer.append(naming ?? "")
            writer.append(archiveSizes.zip)
            writer.append(archiveSizes.tar)
            writer.append(archiveSizes.memberCount)
            writer.append(UInt32(collections.count))
            for one in collections {
                writer.append(one.name)
                writer.append(one.range.lowerBound)
                writer.append(one.range.upperBound)
                writer.append(one.crc32)
            }
        }
        // Counting them each time would take longer than writing one.
        if key.bytes[0] == 0 { CacheRecord.limit(folder, count: Self.countLimit) }
    }
}
