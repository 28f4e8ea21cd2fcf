import BackupCore

/// Checksums of stored files. Those of derived files, an app's export, are computed when they are first asked for, and kept in
/// the catalog: the chunks' names prove the bytes, so a backup need not read a gigabyte of text once more for its digests.
extension Repository {
    /// A file's checksums; `nil` for folders and links. Those of a derived file may take as long as reading it.
    /// Several threads that ask for the same at once all read it: one that waited for another would look like one that waits for
    /// a dead disk.
    /// - Throws: `repositoryDamaged`, also when the bytes are not those of the recorded CRC-32; `interrupted`.
    public func checksums(of entry: TreeEntry) throws(BackupError) -> Checksums? {
        guard entry.kind == .file else { return nil }
        if let recorded = entry.checksums { return recorded }
        let content = entry.content.fingerprint
        if let known = knownChecksums(of: entry, content) { return known }
        let computed = try checksums(of: extents(of: entry.content))
        guard computed.crc32 == entry.crc32 else {
            throw BackupError(
                .repositoryDamaged, "the file's content is not what was backed up", path: entry.name.description)
        }
        derivedChecksums.withLock { $0.insert(computed, for: content, cost: 1) }
        catalog.keep(computed, of: content)
        return computed
    }

    /// The same for lists of many files, which one damaged file must not end: `nil` for it.
    /// - Throws: other errors.
    public func checksumsIfReadable(of entry: TreeEntry) throws(BackupError) -> Checksums? {
        do throws(BackupError) {
            return try checksums(of: entry)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return nil
        }
    }

    /// Whether a file's checksums cost no read of the file.
    public func knowsChecksums(of entry: TreeEntry) -> Bool {
        guard entry.kind == .file else { return false }
        return entry.checksums != nil || knownChecksums(of: entry, entry.content.fingerprint) != nil
    }

    private func knownChecksums(of entry: TreeEntry, _ content: SHA256Digest) -> Checksums? {
        let known = derivedChecksums.withLock { $0.value(for: content) } ?? catalog.digests(of: content)
        return known?.crc32 == entry.crc32 ? known : nil
    }
}
