import BackupCore
import SystemIO

/// Reads off a snapshot and its copy what the parts of one repository are called in the other, so that a copy of the next
/// snapshot need not read what both share. Only folders and content lists are read.
struct KnownCopy {
    private let source: Repository
    private let target: Repository
    private let known: CopiedContents

    init(from source: Repository, to target: Repository, _ known: CopiedContents) {
        self.source = source
        self.target = target
        self.known = known
    }

    /// Ends where something cannot be read, or differs: that is copied in the usual way.
    /// - Parameter cutsAgain: whether the contents of files were cut again; else the copy has the same chunks.
    func note(_ original: Snapshot, _ copy: Snapshot, cutsAgain: Bool) throws(BackupError) {
        var folders = [(original.record.root, copy.record.root)]
        while let (left, right) = folders.popLast() {
            try Cancellation.check()
            guard let left = try? source.directory(left), let right = try? target.directory(right) else { continue }
            for entry in left.entries {
                guard let other = right.entry(named: entry.name), other.kind == entry.kind else { continue }
                if let folder = entry.storedDirectory, let otherFolder = other.storedDirectory {
                    folders.append((folder, otherFolder))
                } else if let checksums = entry.checksums, checksums == other.checksums, entry.size == other.size {
                    if cutsAgain {
                        // Small files are in literals: their bytes must not go to a temporary file.
                        guard entry.content.hasNoLiteral, other.content.hasNoLiteral else { continue }
                        try known.note(other.content, of: entry.content)
                    } else {
                        try noteChunks(entry.content, other.content)
                    }
                }
            }
        }
    }

    private func noteChunks(_ content: FileContent, _ copy: FileContent) throws(BackupError) {
        var left = ContentWalk(content, source.resolver)
        var right = ContentWalk(copy, target.resolver)
        var pairs: [(id: ChunkID, copy: ChunkID)] = []
        while let element = try? left.next(), let other = try? right.next(), element.length == other.length {
            if case .chunk(let id, _) = element, case .chunk(let copy, _) = other { pairs.append((id, copy)) }
            if pairs.count == 4_096 {
                try known.note(pairs)
                pairs = []
            }
        }
        try known.note(pairs)
    }
}

extension FileContent {
    /// Whether all of its bytes are in chunks.
    fileprivate var hasNoLiteral: Bool {
        elements.allSatisfy { if case .literal = $0 { false } else { true } }
    }
}
