import BackupCore
import SystemIO

/// The pack files that are there.
enum PackFolder {
    /// Every pack's length in bytes. Files with other names are none of the repository's business.
    static func list(_ layout: RepositoryLayout) throws(BackupError) -> [PackID: UInt64] {
        let root = try DirectoryReader(path: layout.packs)
        var packs: [PackID: UInt64] = [:]
        for name in try root.names() where name.bytes.count == 2 {
            guard try root.status(name).kind == .directory else { continue }
            let folder = try root.openDirectory(name)
            for file in try folder.names() {
                guard let digest = RepositoryLayout.digest(in: file, extension: RepositoryLayout.packExtension) else { continue }
                do {
                    let status = try folder.status(file)
                    if status.kind == .regular { packs[PackID(digest)] = status.size }
                } catch {
                    // Removed since the folder was listed.
                    if error.code != .notFound { throw error }
                }
            }
        }
        return packs
    }
}
