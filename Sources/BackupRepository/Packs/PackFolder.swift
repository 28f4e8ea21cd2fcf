import BackupCore
import SystemIO

/// The existing pack files.
enum PackFolder {
    /// Every pack's length in bytes. Files with other names are ignored.
    static func list(_ layout: RepositoryLayout) throws(BackupError) -> [PackID: UInt64] {
        var packs: [PackID: UInt64] = [:]
        try visit(layout) { (pack, name, folder) throws(BackupError) in
            do throws(BackupError) {
                let status = try folder.status(name)
                if status.kind == .regular { packs[pack] = status.size }
            } catch {
                // Removed since the folder was listed.
                if error.code != .notFound { throw error }
            }
        }
        return packs
    }

    /// Every pack, without a stat(2) of the files: for a hundred thousand of them that takes a while.
    static func names(_ layout: RepositoryLayout) throws(BackupError) -> Set<PackID> {
        var packs: Set<PackID> = []
        try visit(layout) { (pack, _, _) throws(BackupError) in packs.insert(pack) }
        return packs
    }

    private static func visit(
        _ layout: RepositoryLayout,
        _ body: (PackID, FileName, borrowing DirectoryReader) throws(BackupError) -> Void
    ) throws(BackupError) {
        let root = try DirectoryReader(path: layout.packs)
        for name in try root.names() where name.bytes.count == 2 {
            guard try root.status(name).kind == .directory else { continue }
            let folder = try root.openDirectory(name)
            for file in try folder.names() {
                guard let digest = RepositoryLayout.digest(in: file, extension: RepositoryLayout.packExtension) else { continue }
                try body(PackID(digest), file, folder)
            }
        }
    }
}

/// How thoroughly a catalog is compared with the packs.
enum PackComparison: Sendable {
    /// Which packs exist: every command needs this.
    case names
    /// Their lengths as well: before an operation relies on them.
    case lengths
}

/// Shows whether packs may have been added or removed, at the cost of one stat(2) for each of their 256 folders.
struct PackFolderStamps: Sendable {
    private let stamps: [FolderStamp]

    init(_ layout: RepositoryLayout) throws(BackupError) {
        var stamps = [try FolderStamp(path: layout.packs)]
        for name in try DirectoryReader(path: layout.packs).names() where name.bytes.count == 2 {
            stamps.append(try FolderStamp(path: "\(layout.packs)/\(name)"))
        }
        self.stamps = stamps
    }

    /// Whether the listing made when these stamps were taken was still valid when `later` was taken.
    func covers(_ later: PackFolderStamps) -> Bool {
        stamps.count == later.stamps.count && zip(stamps, later.stamps).allSatisfy { $0.covers($1) }
    }
}
