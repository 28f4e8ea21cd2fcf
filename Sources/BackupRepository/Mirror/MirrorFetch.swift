import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Makes a repository in a folder out of a mirror: the way back when this machine, or its repository, is lost. It needs no
/// password, and nothing but the mirror.
///
/// Every object is verified against its name before it gets it in the folder. `config` is written last, so that an incomplete
/// folder is no repository. An interrupted fetch goes on where it ended.
public final class MirrorFetch: Sendable {
    /// What a fetch has done.
    public struct Summary: Sendable {
        /// Backups in the repository.
        public var snapshotCount = 0
        /// Objects that were downloaded.
        public var objectCount = 0
        /// Their bytes.
        public var downloadedBytes: UInt64 = 0
        /// Objects that are damaged or missing in the mirror, and are not in the folder. Backups that need them cannot be read
        /// completely.
        public var damages: [BackupError] = []
    }

    /// The file that marks a folder as an unfinished fetch. It holds the mirror's location.
    private static let markerName = "fetch"

    private let storage: any ObjectStorage
    private let layout: RepositoryLayout
    private let summary = Mutex(Summary())

    /// - Parameter path: a missing or empty folder, or one that an interrupted fetch from the same mirror left.
    public init(from storage: any ObjectStorage, to path: String) {
        self.storage = storage
        layout = RepositoryLayout(path: FileSystem.absolutePath(path))
    }

    /// - Throws: `noRepository` when the storage holds no mirror; `notEmpty` and `alreadyExists` for the folder; errors of the
    ///   storage and of writing. What was fetched stays for the next attempt.
    public func run(progress: ProgressHandler? = nil) throws(BackupError) -> Summary {
        guard try storage.look(MirrorObject.configuration.name) != nil else {
            throw BackupError(
                .noRepository, "there is no copy of a repository here", path: storage.location,
                remedy: "Check the address.")
        }
        try prepareFolder()
        let listed = try MirrorListing(storage: storage, isKnown: { _ in false }).everything()
        let objects = listed.map { (object: $0.key, facts: $0.value) }.sorted { $0.facts.name < $1.facts.name }
        let last: [MirrorObject] = [.register, .keyCopy, .key, .configurationCopy, .configuration]
        try ParallelTransfer(phase: "Downloading...", progress: progress).run(
            objects.filter { !last.contains($0.object) }, sizeBytes: { $0.facts.sizeBytes }
        ) { [self] (item) throws(BackupError) in try fetch(item.object, item.facts) }
        let folders = Set(objects.map { FileSystem.parentPath($0.object.path(in: layout)) }).union(layout.folders)
        for folder in folders.sorted() where try FileSystem.exists(folder) { try FileSystem.synchronizeDirectory(folder) }
        try FileSystem.synchronizeDirectory(layout.path)
        for object in last {
            guard let facts = objects.first(where: { $0.object == object })?.facts else { continue }
            try fetch(object, facts)
        }
        guard try FileSystem.exists(layout.config) else {
            throw summary.withLock { $0.damages.last }
                ?? BackupError(.conflict, "the copy disappeared while it was read", path: storage.location, remedy: "Try again.")
        }
        try FileSystem.removeFile("\(layout.path)/\(Self.markerName)")
        try FileSystem.synchronizeDirectory(layout.path)
        return summary.withLock { summary in
            summary.snapshotCount = (try? FileSystem.names(in: layout.snapshots).count) ?? 0
            return summary
        }
    }

    private func prepareFolder() throws(BackupError) {
        if try FileSystem.exists(layout.config) {
            throw BackupError(
                .alreadyExists, "there is a repository here already", path: layout.path, remedy: "Choose another folder.")
        }
        let marker = "\(layout.path)/\(Self.markerName)"
        let text = Array("\(storage.location)\n".utf8)
        if try FileSystem.exists(layout.path) {
            if let found = try FileSystem.readFileIfPresent(marker, limitBytes: 1 << 16) {
                guard found == text else {
                    throw BackupError(
                        .notEmpty, "the folder holds an unfinished fetch from another place", path: layout.path,
                        remedy: "Choose an empty folder.")
                }
            } else if try !FileSystem.names(in: layout.path).isEmpty {
                throw BackupError(.notEmpty, "the folder is not empty", path: layout.path, remedy: "Choose an empty folder.")
            }
        } else {
            try FileSystem.makeDirectories(FileSystem.parentPath(layout.path))
            try PrivateFile.makeFolder(layout.path)
        }
        try PrivateFile.publish(text, to: marker, temporaryFolder: layout.path)
        for folder in layout.folders { try PrivateFile.makeFolder(folder) }
        for name in try FileSystem.names(in: layout.temporary) { try FileSystem.removeFile("\(layout.temporary)/\(name)") }
    }

    /// Downloads an object, unless an earlier attempt has. A damaged one is noted, and left out.
    private func fetch(_ object: MirrorObject, _ facts: ObjectFacts) throws(BackupError) {
        // A repository in a folder has no such lists: its next prune removes what is not needed. Nor has it batches of indexes.
        switch object {
        case .doomed, .primary, .indexBatch: return
        default: break
        }
        let path = object.path(in: layout)
        if let status = try FileSystem.look(path), status.size == facts.sizeBytes, object.isImmutable { return }
        let temporary = "\(layout.temporary)/\(RandomToken.make())"
        defer { try? FileSystem.removeFile(temporary) }
        do throws(BackupError) {
            let descriptor = try PrivateFile.createFile(temporary)
            var sizeBytes: UInt64 = 0
            let read = try storage.read(facts.name, range: nil) { (part) throws(BackupError) in
                try descriptor.writeAll(part)
                sizeBytes += UInt64(part.count)
            }
            guard sizeBytes == read.sizeBytes else {
                throw BackupError(.damagedContent, "it ended early", path: "\(storage.location)/\(facts.name)")
            }
            // Of a removed snapshot: the time of its removal.
            if case .removed = object { try descriptor.setModificationTime(facts.storedAt) }
            try descriptor.synchronize()
            try Self.verify(object, SharedFile(path: temporary))
            summary.withLock { summary in
                summary.objectCount += 1
                summary.downloadedBytes += sizeBytes
            }
        } catch {
            // Gone since the listing, or damaged: the others are not affected.
            guard [.notFound, .repositoryDamaged, .damagedContent].contains(error.code) else { throw error }
            summary.withLock { $0.damages.append(error.with(path: "\(storage.location)/\(facts.name)")) }
            return
        }
        try PrivateFile.makeFolder(FileSystem.parentPath(path))
        try FileSystem.rename(temporary, to: path)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
        try FaultInjection.reached("fetch.object-written")
    }

    /// Compares a file with what its name says. Without the key, nothing more is known of a sealed one.
    /// - Throws: `repositoryDamaged`.
    private static func verify(_ object: MirrorObject, _ file: SharedFile) throws(BackupError) {
        switch object {
        case .pack(let id): try PackIndex.verify(file, pack: id)
        case .snapshot(let id), .removed(let id):
            guard try SnapshotID(file.sha256()) == id else {
                throw BackupError(.repositoryDamaged, "the snapshot record does not fit its name")
            }
        case .configuration: _ = try RepositoryConfiguration(decoding: file.readExactly(at: 0, count: Int(file.size)))
        case .configurationCopy: _ = try ConfigurationCopy(decoding: file.readExactly(at: 0, count: Int(file.size)))
        default: return
        }
    }
}

extension MirrorObject {
    /// Whether the name stands for the bytes.
    var isImmutable: Bool {
        switch self {
        case .pack, .snapshot: true
        default: false
        }
    }
}
