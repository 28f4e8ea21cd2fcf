import BackupCore
import SystemIO

/// What a card has in its first levels: as many names as tell what made it, however many there are. Links are not followed, and
/// what cannot be read is left out.
struct CardLook: Sendable {
    private static let nameLimit = 6_000
    private static let nameLimitInFolder = 2_000
    /// Beyond those that are kept, for folders that are looked into before others.
    private static let entryLimitInFolder = 50_000
    private static let folderLimit = 256
    private static let depthLimit = 6
    /// Looked into before others.
    private static let knownFolders: [NamePattern] = [
        "PRIVATE", "DCIM", "CONTENTS", "M4ROOT", "XDROOT", "BPAV", "MP_ROOT", "CLIP", "CLIPS*", "CLPR", "MISC", "XFVC",
        "AVF_INFO", "*.RDM", "*.RDC", "VIDEO", "AVCHD",
    ]

    struct Entry: Sendable {
        let name: FileName
        /// As `NamePattern` compares it.
        let key: [UInt8]

        init(_ name: FileName) {
            self.name = name
            key = NamePattern.key(name.bytes)
        }
    }

    struct Folder: Sendable {
        /// Below the source.
        let path: [FileName]
        /// The keys of the path, after that of the source's own name: the source can be a folder of a card.
        let keys: [[UInt8]]
        fileprivate(set) var files: [Entry] = []
        fileprivate(set) var folders: [Entry] = []

        /// Whether the last components of the path are of these patterns.
        func ends(with patterns: [NamePattern]) -> Bool {
            patterns.count <= keys.count && zip(patterns.reversed(), keys.reversed()).allSatisfy { $0.matches($1) }
        }
    }

    /// In the order in which they were looked into.
    private(set) var folders: [Folder] = []
    /// Whether these are all names of the card.
    private(set) var isWhole = true
    private var nameCount = 0

    /// - Parameters:
    ///   - root: the source.
    ///   - name: its own.
    init(_ root: DirectoryHandle, name: FileName) {
        // What is in known folders comes before all other folders.
        var known = [Folder(path: [], keys: [NamePattern.key(name.bytes)])][...]
        var others: ArraySlice<Folder> = []
        while let folder = known.popFirst() ?? others.popFirst() {
            guard folders.count < Self.folderLimit, nameCount < Self.nameLimit else {
                isWhole = false
                return
            }
            guard let listed = list(folder, root) else { continue }
            folders.append(listed)
            guard listed.path.count < Self.depthLimit else {
                isWhole = isWhole && listed.folders.isEmpty
                continue
            }
            let isInKnown = !listed.path.isEmpty && Self.isKnown(listed.keys.last ?? [])
            for entry in listed.folders {
                let inner = Folder(path: listed.path + [entry.name], keys: listed.keys + [entry.key])
                if isInKnown || Self.isKnown(entry.key) { known.append(inner) } else { others.append(inner) }
            }
        }
    }

    private static func isKnown(_ key: [UInt8]) -> Bool { knownFolders.contains { $0.matches(key) } }

    /// - Returns: `nil` for a folder that cannot be read.
    private mutating func list(_ folder: Folder, _ root: DirectoryHandle) -> Folder? {
        guard let handle = try? root.openFolder(at: folder.path[...]) else {
            isWhole = false
            return nil
        }
        var (files, folders): ([FileName], [FileName]) = ([], [])
        var entryCount = 0
        let limit = min(Self.nameLimitInFolder, Self.nameLimit - nameCount)
        do throws(BackupError) {
            try handle.forEachFileAndFolder { (name, isFolder) throws(BackupError) in
                // Programs and systems leave hidden files and lists of checksums on cards; cameras do not.
                guard name.bytes.first != UInt8(ascii: "."), !ListName.isOfList(name, isFolder: isFolder) else { return }
                entryCount += 1
                guard entryCount <= Self.entryLimitInFolder else { throw BackupError(.tooLarge, "enough names") }
                if files.count + folders.count >= limit {
                    isWhole = false
                    guard isFolder, Self.isKnown(NamePattern.key(name.bytes)), folders.count < 2 * limit else { return }
                }
                if isFolder { folders.append(name) } else { files.append(name) }
            }
        } catch {
            isWhole = false
        }
        nameCount += files.count + folders.count
        var listed = folder
        listed.files = files.sorted().map(Entry.init)
        listed.folders = folders.sorted().map(Entry.init)
        return listed
    }
}
