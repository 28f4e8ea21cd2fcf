import BackupCore
import SystemIO

/// Compares the CRC-32 that a folder records for each file with the one computed from the CRC-32 of the file's chunks, without
/// reading the file. After an error of the writer, whole chunks may still make up another file than the one that was hashed.
/// Folders and lists that snapshots share are checked once.
struct FileChecksumCheck {
    private struct Part {
        var crc32: UInt32 = 0
        var length: UInt64 = 0

        mutating func append(_ other: Part) {
            crc32 = length == 0 ? other.crc32 : CRC32.combine(crc32, other.crc32, secondLength: other.length)
            length &+= other.length
        }
    }

    private let repository: Repository
    private let onProblem: (BackupError) -> Void
    private var lists: [ChunkID: Part] = [:]
    private var directories: Set<StoredDirectory> = []

    /// - Parameter onProblem: called for each file with a wrong checksum, and for each link without a path.
    init(_ repository: Repository, onProblem: @escaping (BackupError) -> Void) {
        self.repository = repository
        self.onProblem = onProblem
    }

    /// Unreadable parts are skipped: other parts of a check report them.
    mutating func check(_ snapshot: Snapshot) throws(BackupError) {
        var cursor = TreeCursor(snapshot, in: repository)
        // Of each open folder, what one lookup found for all its small files.
        var known: [[ChunkID: UInt32]] = []
        while let step = cursor.nextReadable() {
            known.removeLast(max(0, known.count - cursor.depth))
            guard case .entry(let entry) = step else { continue }
            if known.count < cursor.depth {
                try Cancellation.check()
                let ids = cursor.siblings.filter { $0.kind == .file }.flatMap { $0.content.elements.chunkIDs }
                known.append(Self.checksums(ids, in: repository))
            }
            let path = FileName(bytes: BytePath.folder(of: cursor.path)).description
            if let target = entry.linkTarget, target.isEmpty || target.contains(0) {
                onProblem(BackupError(.repositoryDamaged, "\(path)/\(entry.name): the link leads to no path"))
            } else if let inner = entry.storedDirectory {
                if !directories.insert(inner).inserted { cursor.skipFolder() }
            } else if let crc32 = entry.crc32, let part = part(entry.content, known[known.count - 1], depth: 0),
                part.crc32 != crc32
            {
                onProblem(
                    BackupError(
                        .repositoryDamaged, "\(path)/\(entry.name): the recorded CRC-32 is not that of the file's content",
                        remedy: "See whether the backup can be restored with: backupfs verify"))
            }
        }
    }

    /// - Returns: `nil` when a part cannot be read.
    private mutating func part(_ content: FileContent, _ known: [ChunkID: UInt32], depth: Int) -> Part? {
        var sum = Part()
        for element in content.elements {
            switch element {
            case .literal(let bytes): sum.append(Part(crc32: CRC32.of(bytes), length: element.length))
            case .chunk(let id, _):
                guard let crc32 = known[id] else { return nil }
                sum.append(Part(crc32: crc32, length: element.length))
            case .list(let id, _):
                guard let part = lists[id] ?? listPart(element, depth: depth) else { return nil }
                lists[id] = part
                sum.append(part)
            }
        }
        return sum
    }

    private mutating func listPart(_ element: FileContent.Element, depth: Int) -> Part? {
        guard depth < ContentList.depthLimit, let list = try? repository.resolver.open(element) else { return nil }
        return part(list, Self.checksums(list.elements.chunkIDs, in: repository), depth: depth + 1)
    }

    private static func checksums(_ ids: [ChunkID], in repository: Repository) -> [ChunkID: UInt32] {
        if let chunks = try? repository.catalog.locate(ids) {
            return Dictionary(chunks.map { ($0.id, $0.plainCRC32) }) { first, _ in first }
        }
        // One of them is missing.
        var found: [ChunkID: UInt32] = [:]
        for id in ids where found[id] == nil { found[id] = (try? repository.catalog.lookUp(id))?.plainCRC32 }
        return found
    }
}
