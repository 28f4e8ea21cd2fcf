import BackupCore
import SystemIO

/// Writes a stored folder as files. One thread walks the folders, all processors read, verify and write. Small files go in
/// batches, which are looked up and mostly read in one call; large ones go in parts.
struct TreeExtraction {
    private enum Limit {
        static let filesInBatch = 256
        /// Each folder keeps a descriptor open.
        static let foldersInBatch = 16
        static let batchBytes: UInt64 = 4 << 20
        static let partBytes: UInt64 = 16 << 20
        static let elementsInPart = 4_096
        /// Batches and parts that wait for a processor.
        static let queue = 4
    }

    private struct SmallFile: Sendable {
        let entry: TreeEntry
        let folder: ExtractedFolder
    }

    /// The first name of a file that may have more.
    private struct LinkedFile {
        let entry: TreeEntry
        /// Relative to the target folder of the extraction.
        let folder: [UInt8]
    }

    private let repository: Repository
    private let root: DirectoryHandle
    private var linked: [EntryMetadata.Link: LinkedFile] = [:]
    private let ledger: ExtractionLedger
    private let group: WorkGroup
    private var batch: [SmallFile] = []
    private var batchBytes: UInt64 = 0
    private var batchFolders = 0

    /// - Parameter root: the target folder.
    init(_ repository: Repository, into root: DirectoryHandle, _ ledger: ExtractionLedger, _ pool: WorkerPool) {
        self.repository = repository
        self.root = root
        self.ledger = ledger
        group = WorkGroup(pool)
    }

    static func makePool() -> WorkerPool { WorkerPool(queueLimit: Limit.queue) }

    /// - Throws: when nothing can be written any more.
    mutating func run(_ directory: Directory) throws(BackupError) {
        do {
            try extract(directory)
            submitBatch()
        } catch {
            group.fail(error)
        }
        try group.wait()
    }

    private mutating func extract(_ directory: Directory) throws(BackupError) {
        var cursor = TreeCursor(directory, in: repository)
        var folders = [ExtractedFolder(root, ledger)]
        batchFolders += 1
        while !group.hasFailed {
            let step: TreeCursor.Step?
            do throws(BackupError) {
                step = try cursor.next()
            } catch let error where error.code == .repositoryDamaged || error.code == .unsupportedVersion {
                ledger.add(error, path: cursor.path)
                continue
            }
            guard let step else { return }
            guard case .entry(let entry) = step else {
                folders.removeLast()
                continue
            }
            let folder = folders[folders.count - 1]
            switch entry.kind {
            case .symbolicLink:
                let target = entry.linkTarget ?? []
                guard !target.isEmpty, !target.contains(0) else {
                    ledger.add(BackupError(.repositoryDamaged, "the link leads to no path"), path: cursor.path)
                    continue
                }
                try folder.handle.createLink(entry.name, to: target, modificationTime: entry.modificationTime)
                if let owner = folder.owner(of: entry) { try? folder.handle.setOwner(of: entry.name, owner) }
            case .directory:
                folders.append(try ExtractedFolder(entry, in: folder))
                batchFolders += 1
            case .file where entry.metadata?.link != nil: try extractLinked(entry, folder)
            case .file where entry.size > Limit.batchBytes:
                try extractLarge(entry, folder)
            case .file:
                batch.append(SmallFile(entry: entry, folder: folder))
                batchBytes += entry.size
                let isFull = batch.count >= Limit.filesInBatch || batchBytes >= Limit.batchBytes
                if isFull || batchFolders >= Limit.foldersInBatch { submitBatch() }
            }
        }
    }

    // MARK: Hard links

    /// A file with several names. The walking thread writes it completely before it creates another name: otherwise that name
    /// could refer to half a file.
    private mutating func extractLinked(_ entry: TreeEntry, _ folder: ExtractedFolder) throws(BackupError) {
        guard let link = entry.metadata?.link else { return }
        if let first = linked[link], first.entry.isSameFile(as: entry), makeName(for: first, entry, folder) {
            ledger.add(files: 1, bytes: entry.size)
            return
        }
        try writeWhole(entry, folder)
        guard linked[link] == nil, (try? folder.handle.statusIfPresent(entry.name)) != nil else { return }
        linked[link] = LinkedFile(entry: entry, folder: folder.path)
    }

    /// - Returns: false when the file system does not support hard links or no more of this file, or when the first name cannot
    ///   be reached.
    private func makeName(for first: LinkedFile, _ entry: TreeEntry, _ folder: ExtractedFolder) -> Bool {
        guard let source = try? root.openDirectory(at: BytePath.components(of: first.folder)[...]) else { return false }
        return (try? source.link(first.entry.name, in: folder.handle, as: entry.name)) != nil
    }

    private func writeWhole(_ entry: TreeEntry, _ folder: ExtractedFolder) throws(BackupError) {
        let file = try ExtractedFile(entry, in: folder, ledger)
        var cutter = PartCutter(file: file)
        // A write error ends the extraction; an unreadable list concerns this file alone.
        var failure: BackupError?
        do {
            try walk(entry.content, &cutter, depth: 0) { (part) throws(BackupError) in
                do throws(BackupError) {
                    try Self.write(part, repository)
                } catch {
                    failure = error
                    throw error
                }
            }
        } catch {
            if let failure { throw failure }
            file.fail(error)
            return
        }
        try Self.write(cutter.take(), repository)
    }

    // MARK: Small files

    private mutating func submitBatch() {
        guard !batch.isEmpty else { return }
        let files = batch
        batch = []
        batchBytes = 0
        batchFolders = 1
        group.submit { [repository, ledger] () throws(BackupError) in
            var found: [(file: SmallFile, elements: [FileContent.Element])] = []
            for file in files {
                do throws(BackupError) {
                    found.append((file, try repository.resolver.flatten(file.entry.content)))
                } catch {
                    ledger.add(error, path: file.folder.path + file.entry.name.bytes)
                }
            }
            // If a chunk is missing, the files are looked up one by one.
            let chunks = try? repository.catalog.locate(found.flatMap { $0.elements.chunkIDs })
            var reader = ChunkRunReader(chunks ?? [], repository.chunkReader)
            for (file, elements) in found {
                // Not created earlier: a batch has more files than there may be descriptors.
                let target = try ExtractedFile(file.entry, in: file.folder, ledger)
                let part = ExtractionPart(file: target, number: 0, offset: 0, elements: elements)
                if chunks == nil { try part.writeSlowly(repository) } else { try part.write(&reader, repository) }
            }
        }
    }

    // MARK: Large files

    /// Walks the lists of a file without ever holding all of its elements.
    private mutating func extractLarge(_ entry: TreeEntry, _ folder: ExtractedFolder) throws(BackupError) {
        let file = try ExtractedFile(entry, in: folder, ledger)
        var cutter = PartCutter(file: file)
        do {
            try walk(entry.content, &cutter, depth: 0, submit)
        } catch {
            // A list cannot be read. The parts submitted before are written, but the file is removed in the end.
            file.fail(error)
            return
        }
        submit(cutter.take())
    }

    private func walk(
        _ content: FileContent, _ cutter: inout PartCutter, depth: Int, _ take: (ExtractionPart) throws(BackupError) -> Void
    ) throws(BackupError) {
        for element in content.elements {
            if case .list = element {
                guard depth < ContentList.depthLimit else {
                    throw BackupError(.repositoryDamaged, "content lists are nested too deep")
                }
                try walk(repository.resolver.open(element), &cutter, depth: depth + 1, take)
            } else {
                cutter.append(element)
                if cutter.isFull { try take(cutter.take()) }
            }
        }
    }

    private func submit(_ part: ExtractionPart) {
        guard !part.elements.isEmpty else { return }
        group.submit { [repository] () throws(BackupError) in try Self.write(part, repository) }
    }

    private static func write(_ part: ExtractionPart, _ repository: Repository) throws(BackupError) {
        guard !part.elements.isEmpty, !part.file.hasFailed else { return }
        guard let chunks = try? repository.catalog.locate(part.elements.chunkIDs) else {
            return try part.writeSlowly(repository)
        }
        var reader = ChunkRunReader(chunks, repository.chunkReader)
        try part.write(&reader, repository)
    }

    private struct PartCutter {
        let file: ExtractedFile
        private var number = 0
        private var offset: UInt64 = 0
        private var byteCount: UInt64 = 0
        private var elements: [FileContent.Element] = []

        init(file: ExtractedFile) { self.file = file }

        var isFull: Bool { byteCount >= Limit.partBytes || elements.count >= Limit.elementsInPart }

        mutating func append(_ element: FileContent.Element) {
            elements.append(element)
            byteCount += element.length
        }

        mutating func take() -> ExtractionPart {
            defer {
                number += 1
                offset += byteCount
                byteCount = 0
                elements = []
            }
            return ExtractionPart(file: file, number: number, offset: offset, elements: elements)
        }
    }
}

extension Repository {
    /// Writes a stored folder as files into an empty folder, with modes, times, extended attributes, hard links and, as root,
    /// owners. Each file is verified while it is written: every chunk against its checksum, and the file against its own. What
    /// cannot be read from the repository is left out and reported; the rest is written. Nothing is made durable:
    /// `FileSystem.synchronizeTree` does that for all of it.
    /// - Parameters:
    ///   - mediaOwner: the owner of entries in `media` that name none (`Snapshot.mediaOwner`).
    ///   - isInMedia: whether the folder is, or is in, the media folder itself.
    ///   - phase: the name of this phase in `progress`, which is called from several threads.
    /// - Throws: when nothing can be written any more (`noSpace`, …); some of the files may exist then.
    public func extract(
        _ root: Directory, into path: String, mediaOwner: FileOwner? = nil, isInMedia: Bool = false, phase: Message,
        progress: ProgressHandler? = nil
    ) throws(BackupError) -> ExtractionReport {
        let ledger = ExtractionLedger(
            root.totals, mediaOwner: mediaOwner, isInMedia: isInMedia, phase: phase, progress)
        let handle = try DirectoryHandle(path: path, followsLink: false)
        let pool = TreeExtraction.makePool()
        var extraction = TreeExtraction(self, into: handle, ledger, pool)
        let outcome = Result { () throws(BackupError) in try extraction.run(root) }
        // Files and folders are finished with their last reference, which a thread may hold a moment longer than its work takes.
        pool.end()
        try outcome.get()
        return ledger.report()
    }
}
