import BackupCore
import SystemIO

/// How the catalog is opened, and made anew where it cannot be used: nothing that is wrong with it may keep anybody from the packs.
struct CatalogOpening {
    let layout: RepositoryLayout
    let repositoryID: String

    /// Whether the catalog cannot be written where it lies, while the packs may well be readable: it is kept in memory then. Somebody whose
    /// disk is full or fails needs the backups more than ever.
    static func isUnwritable(_ error: BackupError) -> Bool {
        [.readOnly, .accessDenied, .notPermitted, .noSpace, .inputOutput].contains(error.code)
    }

    /// - Returns: the catalog, and why it had to be made anew, if it had to.
    func open() throws(BackupError) -> (catalog: OpenCatalog, reason: BackupError?) {
        do {
            return (try openFile(), nil)
        } catch {
            if error.code == .repositoryDamaged { return (try makeAnew(unlessIn: nil), error) }
            guard Self.isUnwritable(error) else { throw error }
            return (try CatalogDatabase.openInMemory(repositoryID: repositoryID), nil)
        }
    }

    /// An empty catalog, in the place of one that says what is not so.
    func replace(_ old: OpenCatalog) throws(BackupError) -> OpenCatalog { try makeAnew(unlessIn: old) }

    /// Empties the catalog, unless another process did so while this one waited.
    private func makeAnew(unlessIn old: OpenCatalog?) throws(BackupError) -> OpenCatalog {
        do {
            let lock = try WaitingLock.acquire(path: layout.catalogLock)
            defer { withExtendedLifetime(lock) {} }
            if let found = try? openFile(), old == nil || found.generation != old?.generation { return found }
            try CatalogReset.run(path: layout.catalog)
            return try openFile()
        } catch {
            // Also what cannot be emptied, or is of no use after it, is left for another time.
            guard Self.isUnwritable(error) || error.code == .busy || error.code == .repositoryDamaged else { throw error }
            return try CatalogDatabase.openInMemory(repositoryID: repositoryID)
        }
    }

    private func openFile() throws(BackupError) -> OpenCatalog {
        try CatalogDatabase.open(path: layout.catalog, repositoryID: repositoryID)
    }
}
