import BackupCore
import SystemIO

extension Repository {
    /// The document of a source.
    /// - Returns: `nil` when the repository has no document of it.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`; errors of reading.
    public func source(_ id: SourceID) throws(BackupError) -> SourceDocument? {
        let path = layout.sourcePath(of: id)
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(path, limitBytes: SourceDocument.byteCountLimit)
            return try SourceDocument(decoding: try protection.open(bytes, as: .source(id)), for: id)
        } catch {
            if error.code == .notFound { return nil }
            throw error.at(path)
        }
    }

    /// When the document of a source was last written.
    public func sourceTime(_ id: SourceID) -> Timestamp? {
        FileSystem.statusIfPresent(layout.sourcePath(of: id))?.modificationTime
    }

    /// All sources that have a document, sorted by their IDs. Unreadable ones are skipped: their snapshots exist all the same.
    public func sources() throws(BackupError) -> [SourceDocument] { try readSources().documents }

    /// The documents of all sources, and why some cannot be read, each sorted by ID.
    public func readSources() throws(BackupError) -> (documents: [SourceDocument], failures: [(id: SourceID, error: BackupError)])
    {
        var documents: [SourceDocument] = []
        var failures: [(id: SourceID, error: BackupError)] = []
        for id in try sourceIDs() {
            do throws(BackupError) {
                if let document = try source(id) { documents.append(document) }
            } catch {
                failures.append((id, error))
            }
        }
        return (documents, failures)
    }

    /// The IDs of all sources with a document, readable or not, sorted.
    private func sourceIDs() throws(BackupError) -> [SourceID] {
        // Older programs did not create such a folder.
        try FileSystem.names(in: layout.sources).compactMap { RepositoryLayout.source(in: $0) }.sorted()
    }

    /// Sources of snapshots, including removed ones, that have no document, sorted. A writer of a snapshot with a source writes
    /// its document first.
    public func sourcesWithoutDocument() throws(BackupError) -> [SourceID] {
        let named = Set((snapshots() + (try removedSnapshots().map(\.snapshot))).compactMap(\.source))
        return named.subtracting(try sourceIDs()).sorted()
    }

    /// Writes the document of a source, atomically and durably. A damaged document is kept in `damaged/`: some of it may still be
    /// readable.
    /// - Parameter isWanted: receives the current document; if it returns false, nothing is written, and `false` is returned.
    @discardableResult
    public func write(
        _ document: SourceDocument, ifWanted isWanted: (SourceDocument?) -> Bool = { _ in true }
    ) throws(BackupError) -> Bool {
        let bytes = try protection.seal(document.encode(), as: .source(document.id))
        guard bytes.count <= SourceDocument.byteCountLimit else {
            throw BackupError(
                .tooLarge, "the app's definition and the store's settings are too large to be kept with the backups",
                remedy: "Make the definition file smaller.")
        }
        try layout.requireOpened()
        let lock = try WaitingLock.acquire(path: layout.namesLock)
        defer { withExtendedLifetime(lock) {} }
        try layout.requireOpened()
        var current: SourceDocument?
        var damaged: [UInt8]?
        do throws(BackupError) {
            current = try source(document.id)
        } catch {
            // A damaged document is replaced; one of a later version, or one that is currently unreadable, is not.
            guard error.code == .repositoryDamaged else { throw error }
            damaged = try FileSystem.readFile(
                layout.sourcePath(of: document.id), limitBytes: SourceDocument.byteCountLimit)
        }
        guard isWanted(current) else { return false }
        if current == document { return true }
        if let damaged {
            try DamagedFolder(layout: layout) { () throws(BackupError) in }.keepCopy(
                damaged, of: layout.sourcePath(of: document.id))
        }
        try PrivateFile.makeFolder(layout.sources)
        try layout.publish(bytes, to: layout.sourcePath(of: document.id))
        return true
    }

    /// What is wrong with the source documents. This version cannot read those of a later version, which is not damage.
    func sourceProblems() -> [BackupError] {
        do throws(BackupError) {
            let damaged = try readSources().failures.filter { $0.error.code != .unsupportedVersion }
            let missing = try sourcesWithoutDocument().map { id in
                (id: id, error: BackupError(.repositoryDamaged, "what the repository knows of a source of backups is missing"))
            }
            return (damaged + missing).map { id, error in
                error.with(
                    path: layout.sourcePath(of: id),
                    remedy:
                        "No backup is affected. The next backup of its store writes it again. If that store is gone, copy the file back from another copy of the repository: a new store takes the app and the settings from it."
                )
            }
        } catch {
            return [error.at(layout.sources)]
        }
    }
}
