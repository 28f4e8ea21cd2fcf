import BackupCore
import CopyVerify
import FUSEBridge
import Operations
import SystemIO

/// What the user names for a comparison: a folder, a ZIP archive, a manifest, or a backup of a store.
enum ComparedName {
    private static let startByteCount: Int = 64 << 10

    case folder(String)
    case archive(String)
    case manifest(ManifestFile)
    case snapshot(String)

    /// What exists is a file or folder, and other names without a slash are backups.
    init(_ text: String) throws(BackupError) {
        guard let status = try FileSystem.look(text) else {
            guard !text.contains("/"), !text.isEmpty else {
                throw BackupError(.notFound, "there is no such file or folder", path: text)
            }
            self = .snapshot(text)
            return
        }
        switch status.kind {
        case .directory: self = ManifestFile(historyFolder: text).map { .manifest($0) } ?? .folder(text)
        case .regular:
            let file = try SharedFile(path: text)
            let start = try file.bytes(at: 0, upTo: Self.startByteCount)
            if ArchiveSide.isArchive(start) {
                self = .archive(text)
            } else if let manifest = ManifestFile(path: text, start: start) {
                self = .manifest(manifest)
            } else {
                throw Self.unknown(text)
            }
        case .symbolicLink, .other: throw Self.unknown(text)
        }
    }

    private static func unknown(_ path: String) -> BackupError {
        BackupError(
            .invalidArgument, "is neither a folder nor a ZIP archive nor a list of checksums", path: path,
            remedy: "Name a folder, a ZIP archive, SHA256SUMS, MD5SUMS, a list of a bag or of ASC MHL, or a backup.")
    }

    /// Files that may be in the folder of the other side, and are not compared.
    private func ownFiles() throws(BackupError) -> Set<FileIdentity> {
        switch self {
        case .archive(let path): return Set([try FileSystem.identityIfPresent(path)].compactMap(\.self))
        case .manifest(let manifest): return try manifest.ownFiles()
        case .folder, .snapshot: return []
        }
    }

    // MARK: The two sides

    /// - Throws: `invalidArgument` for one folder under two names, which would always be equal.
    static func sides(
        _ source: ComparedName, _ destination: ComparedName, _ checksums: FileChecksums, _ options: StoreOptions
    ) throws(BackupError) -> (source: any ComparedSide, destination: any ComparedSide) {
        if case .folder(let left) = source, case .folder(let right) = destination,
            try FileSystem.identityIfPresent(left) == FileSystem.identityIfPresent(right)
        {
            throw BackupError(
                .invalidArgument, "both are the same folder: \(left), \(right)",
                remedy: "Name two folders. A folder that is mounted twice is one.")
        }
        let store = try store(for: [source, destination], options)
        return (
            try source.side(checksums, store, excluding: destination),
            try destination.side(checksums, store, excluding: source)
        )
    }

    /// - Returns: `nil` when neither is a backup.
    private static func store(for names: [ComparedName], _ options: StoreOptions) throws(BackupError) -> Store? {
        for case .snapshot(let name) in names {
            let path = try options.path()
            guard options.store != nil || StoreLocation.hasStore(path) else {
                throw BackupError(
                    .notFound, "there is no such file or folder, and no store with backups", path: name,
                    remedy: "Name what exists, or the store of the backup with: --store DIR")
            }
            return try options.open()
        }
        return nil
    }

    private func side(
        _ checksums: FileChecksums, _ store: Store?, excluding other: ComparedName
    ) throws(BackupError) -> any ComparedSide {
        switch self {
        case .folder(let path):
            var unlisted: FileName?
            if case .manifest(let manifest) = other { unlisted = manifest.unlistedFolder }
            return try FolderSide(
                path: path, title: path, checksums: checksums, mountType: MountOptions().fileSystemType,
                excluded: other.ownFiles(), excludedName: unlisted)
        case .archive(let path): return try ArchiveSide(path: path, title: path)
        case .manifest(let manifest): return try ManifestSide(manifest, title: manifest.path)
        case .snapshot(let name):
            guard let store else { throw BackupError(.notFound, "there is no such backup", path: name) }
            return try SnapshotSide(store.anySnapshot(named: name), of: store)
        }
    }
}
