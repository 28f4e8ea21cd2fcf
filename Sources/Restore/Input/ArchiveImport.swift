import AppData
import BackupCore
import Formats
import Glibc
import SystemIO

/// A dropped archive: locates the export and the media in it, and verifies them before use.
struct ArchiveImport: Sendable {
    private let reader: ArchiveReader
    /// The user's name for it.
    private let name: String
    private let origin: ImportOrigin
    private let places: ArchiveLocations
    /// Whether the export may assign files to records, or files are recognised by their content.
    private let needsDigests: Bool
    /// Of the media files, when they are needed.
    private var digests: [[UInt8]: Checksums] = [:]
    /// Of all files in their order, once they were checked; `nil` for links and damaged files.
    private var fileDigests: [SHA256Digest?] = []
    /// Whether damaged or missing files are left out, instead of the archive being refused.
    private let allowsDamage: Bool
    private var damagedPaths: Set<[UInt8]> = []
    /// Files that are left out, each with the reason.
    private(set) var leftOut: [Message] = []
    /// Entries of the media folder that are not media.
    private let amongMedia: DatabaseAmongMedia
    /// Where the media files go, when their paths alone do not determine that.
    private var placement: MediaPlacement?

    /// - Parameters:
    ///   - amongMedia: entries of the media folder that are not media: archives that contain them leave them out.
    ///   - freeSpaceBytes: the free space on the disk.
    /// - Throws: errors of `ArchiveReader`; `noSpace` for an archive that unpacks to more than the free space.
    init(
        _ source: ImportSource, _ format: DroppedFormat, definition: AppDefinition, amongMedia: DatabaseAmongMedia = .none,
        freeSpaceBytes: UInt64, allowsDamage: Bool = false
    ) throws(BackupError) {
        var limits = source.origin == .ownRepository ? ArchiveLimits.ownArchive : ArchiveLimits(totalSizeBytes: .max)
        limits.acceptsUnixBackslashes = true
        limits.acceptsSymbolicLinks = true
        reader =
            format == .tar
            ? try ArchiveReader(
                tar: source.bytes, size: source.sizeBytes, limits: limits, readsAhead: source.filePath != nil)
            : try ArchiveReader(
                zip: source.bytes, size: source.sizeBytes, limits: limits, readsAhead: source.filePath != nil)
        // Of the media of a backup, most may be there already: what is missing is known later (`UnchangedMedia`).
        let isOwn = source.origin == .ownRepository
        if !isOwn { try Self.require(reader.unpackedSizeBytes, of: freeSpaceBytes, for: source) }
        origin = source.origin
        name = source.name
        self.allowsDamage = allowsDamage
        self.amongMedia = amongMedia
        needsDigests = definition.describesMedia || definition.media?.duplicates == .content
        let entries = reader.entries(strippingCommonFolder: true)
        // A database brings its tables; an export needs existing ones. Only an export says which file belongs to which record.
        let takesDatabase = definition.coversWholeDatabase || source.prefersDatabase && !definition.describesMedia
        places = try ArchiveLocations(
            of: entries, layout: source.archiveLayout, definition: definition, takesDatabase: takesDatabase,
            takesDatabaseWithoutExport: !definition.describesMedia, name: source.name)
        // The repository verifies its own bytes.
        isProven =
            format != .tar || isOwn || entries.contains { $0.path.elementsEqual("SHA256SUMS".utf8) }
        if isOwn {
            try Self.require(
                reader.unpackedSizeBytes - min(mediaSizeBytes, reader.unpackedSizeBytes), of: freeSpaceBytes, for: source)
        }
    }

    private static func require(
        _ bytes: UInt64, of freeSpaceBytes: UInt64, for source: ImportSource
    ) throws(BackupError) {
        guard bytes > freeSpaceBytes else { return }
        throw BackupError(
            .noSpace, "the archive unpacks to \(bytes) bytes, and there is space for \(freeSpaceBytes)", path: source.name,
            remedy: "Free some space and try again; nothing was changed.")
    }

    private var recordsEntry: ArchiveEntry { places.records }
    /// Whether the records are a database.
    var hasDatabase: Bool { places.hasDatabase }
    private var mediaPaths: ArchiveMediaPaths { places.mediaPaths }

    private var entries: ArchiveEntryList { reader.entries(strippingCommonFolder: true) }

    private func isMedia(_ entry: ArchiveEntry) -> Bool {
        mediaPath(of: entry) != nil
    }

    /// The path below the media folder, with a trailing slash for a folder; empty for the media folder. `nil` for entries that
    /// are not restored as media.
    private func mediaPath(of entry: ArchiveEntry) -> [UInt8]? {
        guard !damagedPaths.contains(entry.path), let path = mediaPaths.mediaPath(of: entry.path) else { return nil }
        return amongMedia != .none && amongMedia.hides(path: path) ? nil : path
    }

    /// A tar archive has no checksums of its own.
    private let isProven: Bool

    var warnings: [Message] {
        reader.warnings
            + (isProven ? [] : ["A tar archive without SHA256SUMS: nothing in it proves that its files are what they were"])
            + places.warnings
    }

    /// Whether the archive defines the content of the media folder, even if it is empty. An archive without media leaves the
    /// folder alone.
    var hasMedia: Bool { places.hasMedia }

    /// - Throws: `invalidContent` when the archive has no media.
    func requireMedia() throws(BackupError) { try places.requireMedia(name) }

    var mediaFileCount: Int {
        entries.reduce(0) { isMedia($1) && !$1.isDirectory ? $0 + targets(of: $1).count : $0 }
    }

    /// Files, links and folders.
    var mediaEntryCount: Int {
        entries.reduce(0) { isMedia($1) ? $0 + ($1.isDirectory ? 1 : targets(of: $1).count) : $0 }
    }

    /// Bytes that the media files need on disk.
    var mediaSizeBytes: UInt64 {
        entries.reduce(0) { isMedia($1) ? $0 + $1.size * UInt64(max(1, targets(of: $1).count)) : $0 }
    }

    /// Whether the backup's database is in the archive, beside the records or as the records. The layout of an app's archives may
    /// have no place for it.
    var hasBackupDatabase: Bool { places.database != nil }
    /// Whether it is damaged, and was left out.
    var isBackupDatabaseDamaged: Bool { places.database.map { damagedPaths.contains($0.path) } ?? false }

    /// Reads and verifies every entry: CRC-32, and SHA-256 if the archive's own `SHA256SUMS` lists it. Copies the export, or the
    /// database (`hasDatabase`), to a file in the same pass.
    /// - Parameter databasePath: where the backup's database goes if it is not the records; `nil` where it is not needed.
    /// - Throws: `damagedContent`, unless damaged files may be left out. Damaged records always throw.
    mutating func check(writingRecordsTo recordsPath: String, databaseTo databasePath: String? = nil) throws(BackupError) {
        var expected: [[UInt8]: SHA256Digest] = [:]
        do throws(BackupError) {
            expected = try listedDigests()
        } catch {
            try leaveOut(Array("SHA256SUMS".utf8), error)
        }
        var copies = [recordsEntry.path: recordsPath]
        if let databasePath, let database = places.database, !hasDatabase { copies[database.path] = databasePath }
        try requireDepth()
        for entry in entries where !entry.isDirectory {
            let listed = expected.removeValue(forKey: entry.path)
            do throws(BackupError) {
                fileDigests.append(try check(entry, listed, copyingTo: copies[entry.path]))
            } catch {
                fileDigests.append(nil)
                guard entry.path != recordsEntry.path else { throw error }
                try leaveOut(entry.path, error)
            }
        }
        for missing in expected.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try leaveOut(missing, damaged("\(MessageText.name(missing)) is in SHA256SUMS, but not in the archive"))
        }
    }

    /// - Throws: `tooLarge` for a file that is nested too deeply.
    func requireDepth() throws(BackupError) {
        for entry in entries where isMedia(entry) {
            // One for the archive's own folder, and one for the file itself.
            guard entry.path.count(where: { $0 == UInt8(ascii: "/") }) <= MediaFolder.depthLimit + 1 else {
                throw BackupError(
                    .tooLarge, "the archive has a file in more than \(MediaFolder.depthLimit) folders", path: name,
                    findings: ["\(MessageText.name(entry.path))"])
            }
        }
    }

    /// - Returns: `nil` for a link.
    private mutating func check(
        _ entry: ArchiveEntry, _ listed: SHA256Digest?, copyingTo path: String?
    ) throws(BackupError) -> SHA256Digest? {
        if entry.isSymbolicLink {
            _ = try linkTarget(entry)
            return nil
        }
        let digest: SHA256Digest
        if needsDigests, mediaPaths.mediaPath(of: entry.path) != nil {
            var hasher = ContentHasher()
            try reader.extract(entry) { (bytes) throws(BackupError) in hasher.update(bytes) }
            let checksums = hasher.finish()
            digests[entry.path] = checksums
            digest = checksums.sha256
        } else {
            var hasher = SHA256Hasher()
            if let path {
                let copy = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
                try reader.extract(entry) { (bytes) throws(BackupError) in
                    hasher.update(bytes)
                    try copy.writeAll(bytes)
                }
            } else {
                try reader.extract(entry) { (bytes) throws(BackupError) in hasher.update(bytes) }
            }
            digest = hasher.finish()
        }
        guard let listed, listed != digest else { return digest }
        throw damaged("the SHA-256 of \(MessageText.name(entry.path)) is not the one in SHA256SUMS")
    }

    /// For a backup whose archive has no place for its database.
    /// - Throws: the error itself, unless it is damage that may be left out.
    mutating func leaveOutDatabase(_ error: BackupError) throws(BackupError) {
        try leaveOut(Array("database.sqlite".utf8), error)
    }

    /// - Throws: the error itself, unless it is damage that may be left out.
    private mutating func leaveOut(_ path: [UInt8], _ error: BackupError) throws(BackupError) {
        guard allowsDamage, error.code == .damagedContent || error.code == .repositoryDamaged else { throw error }
        damagedPaths.insert(path)
        leftOut.append("\(MessageText.name(path)) (\(error.findings.first ?? error.message))")
    }

    /// Checks the media files against the export's manifest, and decides where they go.
    /// - Parameter isComplete: whether every file that the export names must be present.
    /// - Returns: warnings that do not stop a restore, and the new file paths for records.
    /// - Throws: `damagedContent` with a finding for each file that differs from the export; `invalidContent` for a name that
    ///   leaves the folder.
    mutating func place(
        _ manifest: [ManifestEntry], isComplete: Bool, pointer: MediaPointer?
    ) throws(BackupError) -> (warnings: [Message], recordPaths: [FieldValue: [UInt8]]) {
        let check = ManifestCheck(
            mediaPaths: mediaPaths, isComplete: isComplete, pointer: pointer, archivePath: name, digests: digests,
            sizes: Dictionary(mediaFiles.map { ($0.entry.path, $0.entry.size) }) { first, _ in first },
            allowsDamage: allowsDamage, leftOut: damagedPaths)
        let found = try check.run(manifest)
        for loss in found.losses {
            if let path = loss.path { damagedPaths.insert(path) }
            leftOut.append(loss.reason)
        }
        let named = Set(found.entries.map(\.path))
        let others = mediaFiles.filter { !named.contains($0.entry.path) }.map { ($0.entry.path, $0.path) }
        let placement = MediaPlacement(
            found.entries, others: others, mediaPaths: mediaPaths, pointer: pointer, digests: digests.mapValues(\.sha256),
            isOwn: origin == .ownRepository)
        self.placement = placement
        return (found.warnings, placement.recordPaths)
    }

    /// The media files and links, in the archive's order, with their paths below the archive's media folder.
    private var mediaFiles: [(path: [UInt8], entry: ArchiveEntry)] {
        entries.lazy.filter { !$0.isDirectory }.compactMap { entry in
            guard let path = mediaPath(of: entry), !path.isEmpty else { return nil }
            return (path, entry)
        }
    }

    /// The paths below the media folder at which to restore a file.
    private func targets(of entry: ArchiveEntry) -> [[UInt8]] {
        let path = mediaPaths.mediaPath(of: entry.path) ?? entry.path
        return placement?.paths(of: entry.path, usual: path) ?? [path]
    }

    /// The archive's own list of digests; empty when it has none.
    private func listedDigests() throws(BackupError) -> [[UInt8]: SHA256Digest] {
        guard let entry = entries.first(where: { $0.path.elementsEqual("SHA256SUMS".utf8) }) else { return [:] }
        // 64 digits and a path for each entry, at most.
        let limit = entries.reduce(0) { $0 + $1.path.count * 2 + 80 } + 4_096
        return try ChecksumListingReader.read(reader.content(of: entry, limitBytes: limit), path: name)
    }

    /// Visits the media files and links in the archive's order, with their target paths in the media folder.
    func forEachMediaFile(_ body: (_ path: [UInt8], ArchiveEntry) throws(BackupError) -> Void) throws(BackupError) {
        for entry in entries where isMedia(entry) && !entry.isDirectory {
            for target in targets(of: entry) { try body(target, entry) }
        }
    }

    /// The same, with the SHA-256 of each file, once the archive was checked; `nil` for links.
    func forEachCheckedMediaFile(
        _ body: (_ path: [UInt8], ArchiveEntry, SHA256Digest?) throws(BackupError) -> Void
    ) throws(BackupError) {
        var index = 0
        for entry in entries where !entry.isDirectory {
            defer { index += 1 }
            guard isMedia(entry) else { continue }
            for target in targets(of: entry) { try body(target, entry, index < fileDigests.count ? fileDigests[index] : nil) }
        }
    }

    /// The SHA-256 of a media file's bytes, once the archive was checked; `nil` for links, and where no digests are needed.
    func digest(of entry: ArchiveEntry) -> SHA256Digest? { digests[entry.path]?.sha256 }

    /// Whether a file of the entry's size has the entry's content.
    func isSame(_ entry: ArchiveEntry, as file: borrowing OwnedDescriptor) throws(BackupError) -> Bool {
        var offset: UInt64 = 0
        var isSame = true
        var own: [UInt8] = []
        // The archive's bytes are already verified: after the first difference the rest need not be read.
        do throws(BackupError) {
            try reader.extract(entry) { (bytes) throws(BackupError) in
                if own.count < bytes.count { own = [UInt8](repeating: 0, count: bytes.count) }
                let count = try own.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                    try file.readFully(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes.count]))
                }
                isSame = own.withUnsafeBytes { mine in
                    guard count == bytes.count, let ours = mine.baseAddress, let theirs = bytes.baseAddress else { return false }
                    return memcmp(ours, theirs, count) == 0
                }
                offset += UInt64(bytes.count)
                if !isSame { throw BackupError(.interrupted, "the files differ") }
            }
        } catch {
            guard isSame else { return false }
            throw error
        }
        return isSame
    }

    /// Unpacks the media files into `folder`, which must exist and be empty. Not durable yet.
    /// - Parameters:
    ///   - placingFile: maps a file's path to its new path; `nil` to leave it out.
    ///   - isSparse: whether the file at that path in the media folder should have holes.
    ///   - placingFolder: the same for a folder. Folders that contain files are created in any case.
    ///   - isStaged: whether a file is in its place already; the number counts the files as `forEachMediaFile` does.
    func stageMedia(
        in folder: String, placingFile: ([UInt8]) throws(BackupError) -> [UInt8]? = { (path) throws(BackupError) in path },
        placingFolder: ([UInt8]) throws(BackupError) -> [UInt8]? = { (path) throws(BackupError) in path },
        isSparse: ([UInt8]) -> Bool = { _ in false }, isStaged: (Int) -> Bool = { _ in false }
    ) throws(BackupError) {
        let staged = try StagedPath(in: folder)
        var index = 0
        var folders: [(path: [UInt8], entry: ArchiveEntry)] = []
        for entry in entries {
            guard let own = mediaPath(of: entry), !own.isEmpty else { continue }
            if entry.isDirectory {
                guard let relative = try placingFolder(Array(own.dropLast())) else { continue }
                try staged.makeDirectories(relative)
                folders.append((relative, entry))
                continue
            }
            for target in targets(of: entry) {
                defer { index += 1 }
                guard !isStaged(index), let relative = try placingFile(target) else { continue }
                try stage(entry, at: relative, in: staged, isSparse: isSparse(target))
            }
        }
        // Last, since creating a file in a folder changes its time; innermost first, since a mode may close a folder.
        for (path, entry) in folders.reversed() {
            try staged.setDirectoryAttributes(path, entry.permissions, entry.modificationTime)
        }
    }

    /// Unpacks one media file.
    func stage(
        _ entry: ArchiveEntry, at relative: [UInt8], in staged: StagedPath, isSparse: Bool
    ) throws(BackupError) {
        try staged.makeDirectories(BytePath.folder(of: relative))
        if entry.isSymbolicLink {
            return try staged.createLink(relative, to: linkTarget(entry), entry.modificationTime)
        }
        let file = try staged.create(relative)
        if isSparse {
            var offset: UInt64 = 0
            try reader.extract(entry) { (bytes) throws(BackupError) in
                try file.writeSparsely(bytes, at: offset)
                offset += UInt64(bytes.count)
            }
            try file.truncate(to: offset)
        } else {
            try reader.extract(entry) { (bytes) throws(BackupError) in try file.writeAll(bytes) }
        }
        if let permissions = entry.permissions { try file.setPermissions(mode_t(permissions & 0o1777 | 0o600)) }
        try file.setModificationTime(entry.modificationTime)
    }

    /// The target of a link.
    /// - Throws: `invalidContent` for a link outside the media folder, and for a link of a foreign archive that leaves the
    ///   folder.
    func linkTarget(_ entry: ArchiveEntry) throws(BackupError) -> [UInt8] {
        let target = try reader.content(of: entry, limitBytes: Int(PATH_MAX) - 1)
        guard let path = mediaPaths.mediaPath(of: entry.path), !target.isEmpty, !target.contains(0),
            origin == .ownRepository || Self.stays(target, at: path)
        else {
            throw BackupError(
                .invalidContent, "Import failed: the link \(MessageText.name(entry.path)) points outside of the media folder",
                path: name,
                remedy: "A backup of this store can be restored with: backupfs restore NAME")
        }
        return target
    }

    /// Whether a link at `path` stays inside the folder, regardless of other links on its path: it is relative, first climbs no
    /// higher than the folder, and then only descends. (A `..` after a name could climb out of another link's target.)
    private static func stays(_ target: [UInt8], at path: [UInt8]) -> Bool {
        guard target.first != UInt8(ascii: "/") else { return false }
        var depth = path.split(separator: UInt8(ascii: "/")).count - 1
        var isDescending = false
        for component in target.split(separator: UInt8(ascii: "/")) where !component.elementsEqual([46]) {
            if component.elementsEqual([46, 46]) {
                depth -= 1
                if isDescending || depth < 0 { return false }
            } else {
                isDescending = true
            }
        }
        return true
    }

    private func damaged(_ finding: Message) -> BackupError {
        BackupError(.damagedContent, ImportMessages.corruptedFile, path: name, findings: [finding])
    }
}
