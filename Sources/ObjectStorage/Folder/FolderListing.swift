import BackupCore
import SystemIO

/// Makes a page of a listing. It walks folder by folder in the order of whole names: the name of a folder counts with its slash,
/// so that `a-b` comes before `a/b`.
///
/// Its memory does not depend on the size of a folder: from each folder it keeps only the names that the page can need, and reads
/// the folder again for those after them. A page of a folder of 100,000 files therefore reads all their names.
struct FolderListing {
    private static let pageLimit = 1_000
    private static let slash = UInt8(ascii: "/")

    private struct Entry {
        /// The name, with a slash after that of a folder.
        let key: [UInt8]
        let name: FileName
        let isFolder: Bool
    }

    private let prefix: [UInt8]
    /// Empty from the start.
    private let previous: [UInt8]
    private let pageSize: Int
    /// One more than a page, to know whether there are more.
    private var objects: [ObjectFacts] = []

    init(prefix: [UInt8], after previous: [UInt8], limit: Int) {
        self.prefix = prefix
        self.previous = previous
        pageSize = min(limit, Self.pageLimit)
    }

    var page: ObjectPage { ObjectPage(objects: Array(objects.prefix(pageSize)), hasMore: objects.count > pageSize) }

    private var isFull: Bool { objects.count > pageSize }

    mutating func run(_ root: FolderRoot) throws(BackupError) {
        let folder = try root.open()
        // The folders in the prefix need no listing of the folders above them.
        let parts = prefix.split(separator: Self.slash, omittingEmptySubsequences: false).dropLast().map {
            FileName(bytes: Array($0))
        }
        guard parts.allSatisfy(\.isSafeComponent), parts.first != FolderRoot.controlFolderName,
            let start = try folder.openFolder(at: parts[...])
        else { return }
        try walk(start, path: Array(prefix.prefix(parts.reduce(0) { $0 + $1.bytes.count + 1 })), root, folder)
    }

    /// - Parameter path: that of the folder in the storage, with a slash at its end; empty for the storage's own folder.
    private mutating func walk(
        _ folder: DirectoryHandle, path: [UInt8], _ root: FolderRoot, _ top: DirectoryHandle
    ) throws(BackupError) {
        var last: [UInt8]?
        while true {
            try Cancellation.check()
            // A file that is replaced while its folder is read could be missed.
            let (entries, isWhole) = try root.withSharedLock(top) { () throws(BackupError) in
                try smallestEntries(of: folder, path: path, after: last)
            }
            for entry in entries {
                let fullName = path + entry.key
                guard let name = Self.objectName(entry.isFolder ? fullName.dropLast() : fullName[...]) else { continue }
                if entry.isFolder {
                    try walk(folder.openDirectory(entry.name), path: fullName, root, top)
                } else if let status = try folder.statusIfPresent(entry.name), status.kind == .regular {
                    objects.append(FolderStorage.facts(of: name, status))
                }
                if isFull { return }
            }
            guard !isWhole, let key = entries.last?.key else { return }
            last = key
        }
    }

    /// The entries of a folder that the page can need, in order.
    /// - Parameter last: only those after this key.
    /// - Returns: also whether these are all.
    private func smallestEntries(
        of folder: DirectoryHandle, path: [UInt8], after last: [UInt8]?
    ) throws(BackupError) -> (entries: [Entry], isWhole: Bool) {
        let limit = pageSize + 1 - objects.count
        var entries: [Entry] = []
        // Keys after it are left for the next call.
        var bound: [UInt8]?
        func cut() {
            entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
            guard entries.count > limit else { return }
            entries.removeLast(entries.count - limit)
            bound = entries.last?.key
        }
        try folder.forEachFileAndFolder { (name, isFolder) throws(BackupError) in
            let key = isFolder ? name.bytes + [Self.slash] : name.bytes
            if let last, !last.lexicographicallyPrecedes(key) { return }
            if let bound, bound.lexicographicallyPrecedes(key) { return }
            guard mayNeed(path + key, isFolder: isFolder), !FolderStorage.isTemporary(name),
                !path.isEmpty || name != FolderRoot.controlFolderName
            else { return }
            entries.append(Entry(key: key, name: name, isFolder: isFolder))
            if entries.count >= limit + pageSize { cut() }
        }
        cut()
        return (entries, bound == nil)
    }

    private func mayNeed(_ fullName: [UInt8], isFolder: Bool) -> Bool {
        guard isFolder else { return previous.lexicographicallyPrecedes(fullName) && fullName.starts(with: prefix) }
        return (previous.lexicographicallyPrecedes(fullName) || previous.starts(with: fullName))
            && (fullName.starts(with: prefix) || prefix.starts(with: fullName))
    }

    /// - Returns: `nil` for a name that no object has.
    private static func objectName(_ bytes: ArraySlice<UInt8>) -> ObjectName? {
        String(validating: bytes, as: UTF8.self).flatMap { ObjectName($0) }
    }
}
