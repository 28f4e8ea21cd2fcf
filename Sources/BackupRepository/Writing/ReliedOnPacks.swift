import BackupCore
import SystemIO

/// Existing packs that a new snapshot or a prune relies on.
enum ReliedOnPacks {
    /// Verifies that they exist, and that they survive a power cut. The process that wrote one may have died between the rename and the fsync of its folder:
    /// the pack is visible then and treated as stored, but its name may still be lost. The same holds for the names in the repository's own folder. For folders
    /// that are already durable, an fsync costs almost nothing.
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
                path: layout.packPath(of: pack), remedy: "Run a backup: it stores the missing data again.")
        }
    }
}
