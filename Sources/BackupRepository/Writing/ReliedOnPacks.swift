import BackupCore
import SystemIO

/// Packs that are there already, and that a new snapshot or a prune relies on.
enum ReliedOnPacks {
    /// Makes sure that they are there, and stay there if the power fails. Whoever wrote one may have died between its rename and the
    /// fsync of its folder; it is seen then, and taken for stored, but its name may still be lost. The same goes for the names in the
    /// repository's own folder. For folders that are durable already an fsync costs next to nothing.
    /// - Throws: `repositoryDamaged` when one has vanished.
    static func makeDurable(_ packs: Set<PackID>, layout: RepositoryLayout) throws(BackupError) {
        for folder in Set(packs.map { RepositoryLayout.packFolder(of: $0, in: layout.packs) }) {
            if try FileSystem.exists(folder) { try FileSystem.synchronizeDirectory(folder) }
        }
        try FileSystem.synchronizeDirectory(layout.packs)
        try FileSystem.synchronizeDirectory(layout.path)
        for pack in packs {
            if try FileSystem.exists(layout.packPath(of: pack)) { continue }
            throw BackupError(
                .repositoryDamaged, "a pack that is needed vanished meanwhile",
                path: layout.packPath(of: pack), remedy: "Run a backup: it stores the missing data anew.")
        }
    }
}
