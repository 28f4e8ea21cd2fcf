import BackupCore
import SystemIO

/// Writes a stored folder as files. One thread walks the folders, all processors read, check and write: small files in batches that are looked up,
/// and mostly read, in one go; large ones in parts.
struct TreeExtraction {
    private enum Limit {
        static let filesInBatch = 256
        /// Each keeps a descriptor.
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

    private let repository: Repository
    private let ledger: ExtractionLedger
    private let group: WorkGroup
    private var batch: [SmallFile] = []
    private var batchBytes: UInt64 = 0
    private var batchFolders = 0

    init(_ repository: Repository, _ ledger: ExtractionLedger, _ pool: WorkerPool) {
        self.repository = repository
        self.ledger = ledger
        group = WorkGroup(pool)
    }

    static func makePool() -> WorkerPool { WorkerPool(queueLimit: Limit.queue) }

    /// - Throws: when nothing can be written any more.
    mutating func run(_ root: Directory, into handle: FolderHandle) throws(BackupError) {
        do {
            try extract(root, ExtractedFolder(handle, ledger))
            submitBatch()
        } catch {
            group.fail(error)
        }
        try group.wait()
    }

    private mutating func extract(_ directory: Directory, _ folder: ExtractedFolder) throws(BackupError) {
        batchFolders += 1
        for entry in directory.entries {
            if group.hasFailed { return }
            switch entry.kind {
            case .symbolicLink:
                try folder.handle.makeLink(
                    entry.name, to: entry.linkTarget ?? [], modificationTime: entry.modificationTime)
            case .directory:
                let inner = try ExtractedFolder(entry, in: folder)
                do throws(BackupError) {
                    let directory = try repository.directory(of: entry)
                    try extract(directory, inner)
                } catch let error where error.code == .repositoryDamaged || error.code == .unsupportedVersion {
                    ledger.add(error, path: folder.path + entry.name.bytes)
                }
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
            // When one of the chunks is nowhere, the files are looked up one by one.
            let chunks = try? repository.catalog.locate(found.flatMap { $0.elements.chunkIDs })
            var reader = ChunkRunReader(chunks ?? [], repository.chunkReader)
            for (file, elements) in found {
                // Created only now: a batch has more files than there may be descriptors.
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
            try walk(entry.content, &cutter, depth: 0)
        } catch {
            // A list that cannot be read; what was handed in before is written in vain.
            file.fail(error)
            return
        }
        submit(cutter.take())
    }

    private func walk(_ content: FileContent, _ cutter: inout PartCutter, depth: Int) throws(BackupError) {
        for element in content.elements {
            if case .list = element {
                guard depth < ContentList.depthLimit else {
                    throw BackupError(.repositoryDamaged, "content lists are nested too deep")
                }
                try walk(repository.resolver.open(element), &cutter, depth: depth + 1)
            } else {
                cutter.append(element)
                if cutter.isFull { submit(cutter.take()) }
            }
        }
    }

    private func submit(_ part: ExtractionPart) {
        guard !part.elements.isEmpty else { return }
        group.submit { [repository] () throws(BackupError) in
            guard !part.file.hasFailed else { return }
            guard let chunks = try? repository.catalog.locate(part.elements.chunkIDs) else {
                return try part.writeSlowly(repository)
            }
            var reader = ChunkRunReader(chunks, repository.chunkReader)
            try part.write(&reader, repository)
        }
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
    /// Writes a stored folder as files, with their modes and times, into an empty folder. Each file is checked while it is written: every chunk
    /// against its checksum, and the file against its own. What cannot be read from the repository is left out and told; the rest is written.
    /// Nothing is made durable: `FolderHandle.synchronizeFileSystem` does that for all of it.
    /// - Parameters:
    ///   - phase: what to call it in `progress`, which is told from several threads.
    /// - Throws: when nothing can be written any more (`noSpace`, …); an unknown part of the files is there then.
    public func extract(
        _ root: Directory, into path: String, phase: Message, progress: ProgressHandler? = nil
    ) throws(BackupError) -> ExtractionReport {
        let ledger = ExtractionLedger(root.totals, phase: phase, progress)
        let handle = try FolderHandle(path: path)
        let pool = TreeExtraction.makePool()
        var extraction = TreeExtraction(self, ledger, pool)
        let outcome = Result { () throws(BackupError) in try extraction.run(root, into: handle) }
        // Files and folders are finished with their last reference, which the work of a thread may hold a moment longer than the work takes.
        pool.end()
        try outcome.get()
        return ledger.report()
    }
}
