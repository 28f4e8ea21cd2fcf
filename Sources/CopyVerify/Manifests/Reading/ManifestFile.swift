import BackupCore
import SystemIO

/// A list of checksums of any kind that this program knows: of coreutils or BSD, of a bag, or an ASC MHL history or one of its
/// generations.
public struct ManifestFile {
    private enum Kind { case sums, bag, mhl, history }

    /// Of the list, or of the folder of a history.
    public let path: String
    private let kind: Kind

    /// - Parameter start: the first bytes of the file, at least 64 KiB if it has them.
    /// - Returns: `nil` when it is no list.
    public init?(path: String, start: [UInt8]) {
        self.path = path
        let name = FileSystem.lastComponent(path)
        if name.hasSuffix(MHLFormat.ending), start.starts(with: Array("<?xml".utf8)) {
            kind = .mhl
        } else if ListName.isBagList(name), FileSystem.statusIfPresent(Self.declaration(path)) != nil {
            kind = .bag
        } else if SumsFile.isSums(start, path: path) {
            kind = .sums
        } else {
            return nil
        }
    }

    /// - Returns: `nil` when the folder is not that of an ASC MHL history.
    public init?(historyFolder path: String) {
        guard FileSystem.lastComponent(path) == MHLFormat.folder.description,
            FileSystem.statusIfPresent("\(path)/\(MHLFormat.chain)") != nil
        else { return nil }
        self.path = path
        kind = .history
    }

    private static func declaration(_ path: String) -> String { "\(FileSystem.parentPath(path))/\(BagFiles.declaration)" }

    /// Passes on the files in it; their paths are below the folder that the list is about: the payload of a bag.
    /// - Throws: `invalidContent` for a list that is damaged, or that leads out of its folder.
    public func read(_ body: @escaping (ManifestEntry) throws(BackupError) -> Void) throws(BackupError) {
        switch kind {
        case .sums:
            var sums = try SumsFile(path: path)
            while let entry = try sums.next() { try body(entry) }
        case .bag:
            let payload = Array("\(CopyOptions.payload)/".utf8)
            try BagFiles.read(path, encodesPercent: BagFiles.encodesPercent(FileSystem.parentPath(path))) {
                (entry) throws(BackupError) in
                guard entry.path.starts(with: payload) else { return try body(entry) }
                try body(
                    ManifestEntry(path: Array(entry.path.dropFirst(payload.count)), size: entry.size, digests: entry.digests))
            }
        case .mhl:
            try MHLHistory.read(path, list: path, history: nil, prefix: []) { (line) throws(BackupError) in
                if !line.isGone { try body(line.entry) }
            }
        case .history: for entry in try newest() { try body(entry) }
        }
    }

    /// What the history says of each file in the end.
    private func newest() throws(BackupError) -> [ManifestEntry] {
        final class Found {
            var entries: [[UInt8]: ManifestEntry] = [:]
        }
        let folder = try DirectoryHandle(path: path)
        let found = Found()
        try MHLHistory.read(folder, .read(folder)) { (line) throws(BackupError) in
            let entry = line.entry
            guard !line.isGone else { return found.entries[entry.path] = nil }
            let earlier = found.entries[entry.path]
            found.entries[entry.path] = ManifestEntry(
                path: entry.path, size: entry.size ?? earlier?.size,
                digests: entry.digests.filled(from: earlier?.digests ?? .init()))
        }
        return found.entries.values.sorted { $0.path.lexicographicallyPrecedes($1.path) }
    }

    /// The name of folders that such a list never has; `nil` without one.
    public var unlistedFolder: FileName? { kind == .mhl || kind == .history ? MHLFormat.folder : nil }

    /// The list itself, and what belongs to it, wherever that is in the folder that it is about: no list has those.
    public func ownFiles() throws(BackupError) -> Set<FileIdentity> {
        var own: Set<FileIdentity> = []
        if let identity = try FileSystem.identityIfPresent(path) { own.insert(identity) }
        return own
    }
}
