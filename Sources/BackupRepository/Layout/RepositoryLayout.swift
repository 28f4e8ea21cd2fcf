import BackupCore
import SystemIO

/// Where the contents of packs come from that are only cached in a repository's folder.
protocol PackSource: Sendable {
    /// Where the packs are, for messages.
    var location: String { get }

    /// Opens a pack for reading.
    /// - Throws: `notFound` when there is no such pack; errors of the storage.
    func open(_ id: PackID) throws(BackupError) -> SharedFile

    /// Forgets what is cached of a pack: it is transferred again.
    func discard(_ id: PackID) throws(BackupError)

    /// Transfers a pack once more, and forgets what was cached of it only when that has succeeded.
    /// - Throws: errors of the storage. A damaged pack is no error: its readers report it.
    func renew(_ id: PackID) throws(BackupError)

    /// A copy of a pack's index that is here already, so that the pack need not be read; `nil` if there is none.
    func storedIndex(of id: PackID) -> StoredPackIndex?

    /// Lists everything in the storage, and reads what is known from copies in batches of indexes alone, for a check of what the
    /// storage has. The indexes of packs are not read.
    /// - Throws: errors of the storage.
    func prepareCheck() throws(BackupError)

    /// Brings the list of packs in line with the storage, after something was not found, unless that has just been done.
    /// - Returns: whether it was done.
    /// - Throws: errors of the storage.
    func findPacks() throws(BackupError) -> Bool
}

/// The paths in a repository's folder.
struct RepositoryLayout: Sendable {
    let path: String
    /// The configuration of the open repository; `nil` while it is not open.
    private(set) var opened: RepositoryConfiguration?
    /// For the folder of a repository that lies elsewhere: supplies the contents of its packs. `nil` where the packs are whole.
    let packSource: (any PackSource)?
    /// For the folder of a repository that is kept elsewhere and can be changed from here.
    let upstream: (any RepositoryUpstream)?

    init(path: String) {
        self.path = path
        packSource = nil
        upstream = nil
    }

    /// The cache of a copy, which is only read.
    init(path: String, packSource: any PackSource) {
        self.path = path
        self.packSource = packSource
        upstream = nil
    }

    /// The cache of a repository.
    init(path: String, upstream: any RepositoryUpstream) {
        self.path = path
        packSource = upstream
        self.upstream = upstream
    }

    /// The same for an open repository.
    func opened(_ configuration: RepositoryConfiguration) -> RepositoryLayout {
        var layout = self
        layout.opened = configuration
        return layout
    }

    /// During a mount, the disk may have been exchanged for another one at the same place. New files would then go to a foreign
    /// repository, in clear text even if this one is encrypted.
    /// - Throws: `notPermitted` when another repository is here now; `noRepository` when there is none.
    func requireOpened() throws(BackupError) {
        guard let opened else { return }
        let found = try ConfigurationFiles(layout: self).read().configuration
        guard found.repositoryID == opened.repositoryID, found.isEncrypted == opened.isEncrypted else {
            throw BackupError(
                .notPermitted, "this is not the repository that was opened here", path: path,
                remedy: "Mount the right disk there and try again.")
        }
    }

    var config: String { "\(path)/config" }
    var configCopy: String { "\(path)/config.copy" }
    /// The wrapped master key of an encrypted repository, and its copy.
    var key: String { "\(path)/key" }
    var keyCopy: String { "\(path)/key.copy" }
    /// Explains the folder to people.
    var readme: String { "\(path)/README.txt" }
    var packs: String { "\(path)/packs" }
    var snapshots: String { "\(path)/snapshots" }
    var labels: String { "\(path)/labels" }
    var temporary: String { "\(path)/tmp" }
    /// Held while packs are written.
    var writerLock: String { "\(path)/lock" }
    /// Held shared by operations that need all packs to stay in place, and exclusively by those that remove some.
    var packsLock: String { "\(path)/packs.lock" }
    /// Notes of the holders of locks; created when needed.
    var locks: String { "\(path)/locks" }
    /// Held for the moment in which a snapshot's name appears, changes or disappears.
    var namesLock: String { "\(path)/names.lock" }

    /// The list of snapshots that should exist; created when needed.
    var register: String { "\(path)/register" }

    /// Information about the stores that make snapshots; created when needed.
    var sources: String { "\(path)/sources" }

    /// Records of removed snapshots that can still be undeleted.
    var removed: String { "\(path)/removed" }

    /// Only of a repository in an object storage: machines make backups in it, and no copy may be kept in its place.
    var primaryMark: String { "\(path)/primary" }

    /// Lists of packs that a prune has found unneeded, and that a later one removes. Only of a repository in an object storage.
    var doomed: String { "\(path)/doomed" }

    /// Copies of the indexes of many packs in one object: see `IndexBatch`. Only of a repository in an object storage.
    var indexes: String { "\(path)/indexes" }

    /// Damaged files that a repair has replaced or could not save; created when needed.
    var damaged: String { "\(path)/damaged" }

    /// The folders that always exist. `removed` is one of them: a snapshot is often removed because the disk is full.
    var folders: [String] { [packs, snapshots, labels, temporary, removed] }

    static let packExtension = ".pack"
    static let indexBatchExtension = ".indexes"
    static let snapshotExtension = ".snapshot"
    static let labelExtension = ".label"
    static let sourceExtension = ".source"

    /// Opens a pack for reading.
    /// - Throws: `notFound` when it is gone; errors of the storage when its bytes are elsewhere.
    func openPack(_ id: PackID) throws(BackupError) -> SharedFile {
        if let packSource { return try packSource.open(id) }
        return try SharedFile(path: packPath(of: id))
    }

    /// Opens a pack from its storage again, after the bytes that were read here have turned out to be damaged.
    /// - Returns: `nil` where the packs are no cached copies, so that reading again is useless.
    func reopenPack(_ id: PackID) throws(BackupError) -> SharedFile? {
        guard let packSource else { return nil }
        try packSource.discard(id)
        return try packSource.open(id)
    }

    /// - Throws: `readOnly` for a repository that lies elsewhere and is only read.
    func requireWritable() throws(BackupError) {
        guard let packSource, upstream == nil else { return }
        throw BackupError(
            .readOnly, "this is a copy of a repository, which is only read from here", path: packSource.location,
            remedy: "Change the repository that it was made from: the next sync brings the copy up to date.")
    }

    /// A pack's place for messages: not that of a cached copy.
    func shownPackPath(of id: PackID) -> String {
        guard let packSource else { return packPath(of: id) }
        return Self.packPath(of: id, in: "\(packSource.location)/packs")
    }

    func packPath(of id: PackID) -> String { Self.packPath(of: id, in: packs) }
    func snapshotPath(of id: SnapshotID) -> String { "\(snapshots)/\(id.hexadecimal)\(Self.snapshotExtension)" }
    func labelPath(of id: SnapshotID) -> String { "\(labels)/\(id.hexadecimal)\(Self.labelExtension)" }

    func removedPath(of id: SnapshotID) -> String { "\(removed)/\(id.hexadecimal)\(Self.snapshotExtension)" }

    func damagedRecordPath(of id: SnapshotID) -> String { "\(damaged)/\(id.hexadecimal)\(Self.snapshotExtension)" }

    func sourcePath(of id: SourceID) -> String { "\(sources)/\(id.hexadecimal)\(Self.sourceExtension)" }

    func indexBatchPath(of id: IndexBatchID) -> String { "\(indexes)/\(id.hexadecimal)\(Self.indexBatchExtension)" }

    /// The source whose document has this name; `nil` for any other name.
    static func source(in name: FileName) -> SourceID? {
        guard let text = String(validating: name.bytes, as: UTF8.self), text.hasSuffix(sourceExtension) else { return nil }
        return SourceID(hexadecimal: String(text.dropLast(sourceExtension.count)))
    }

    static func packFolder(of id: PackID, in packs: String) -> String { "\(packs)/\(id.hexadecimal.prefix(2))" }
    static func packPath(of id: PackID, in packs: String) -> String {
        "\(packFolder(of: id, in: packs))/\(id.hexadecimal)\(packExtension)"
    }

    /// The digest in a name such as `<64 digits>.pack`; `nil` for any other name.
    static func digest(in name: FileName, extension suffix: String) -> SHA256Digest? {
        let bytes = name.bytes
        guard bytes.count == 64 + suffix.utf8.count, bytes[64...].elementsEqual(suffix.utf8),
            !bytes[..<64].contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) })
        else { return nil }
        return SHA256Digest(hexadecimal: String(decoding: bytes[..<64], as: UTF8.self))
    }
}

/// A file that explains the folder to people: `config` alone means nothing to a user who finds the folder in ten years. No
/// program reads it.
enum RepositoryReadme {
    private static let text = """
        This folder is a repository of backupfs, a backup program for the data of one app.
        It holds all backups that were made into it. Copy or move it as a whole.

        Do not change, rename or remove anything in it by hand.
          List the backups:    backupfs init --repository THIS-FOLDER --store NEW-FOLDER
                               backupfs snapshots --store NEW-FOLDER
          Look for damage:     backupfs check --store NEW-FOLDER
        If there is a file named "key", the backups are encrypted: nothing of them can be read
        without the password.

        If there is no backupfs any more: every byte here is described in its document
        "Repository format, version 1" (Docs/reference/repository-format.md), which is enough to write a
        reader. The data are chunks, compressed with DEFLATE (RFC 1951) and named by SHA-256;
        each file in packs/ says at its end what is in it, snapshots/ has one small file for
        each backup, which names its folders and files.

        """

    /// Writes it if it is missing. Nothing depends on it: a full disk does not make a backup fail because of it.
    static func add(_ layout: RepositoryLayout) {
        guard (try? FileSystem.exists(layout.readme)) == false else { return }
        try? layout.publish(Array(text.utf8), to: layout.readme)
    }
}
