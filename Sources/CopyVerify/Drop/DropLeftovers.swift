import BackupCore
import SystemIO

/// What a process that was killed while files were copied into a set has left: files in the spool, and unfinished copies. The
/// folders of the spool say where such copies can be.
struct DropLeftovers {
    let spool: String
    let jobs: String

    /// - Parameter source: that of the set's jobs.
    func remove(from places: [DestinationPlace], of source: String) throws(BackupError) {
        guard try FileSystem.exists(spool) else { return }
        let tokens = try tokens(of: source)
        if !tokens.isEmpty {
            let root = try DirectoryHandle(path: spool, followsLink: false)
            for place in places where !place.isMade {
                try clean(root, try DirectoryHandle(path: place.path), tokens)
            }
        }
        try FileSystem.removeTree(spool)
    }

    /// Those of jobs that no process has ended.
    private func tokens(of source: String) throws(BackupError) -> [String] {
        guard try FileSystem.exists(jobs) else { return [] }
        return try JobFolder.all(in: jobs).filter { job in
            job.record.kind == .drop && job.record.source == source && !job.isRunning && job.state == .inProgress
        }.map(\.record.token)
    }

    private func clean(_ spool: DirectoryHandle, _ target: DirectoryHandle, _ tokens: [String]) throws(BackupError) {
        try UnfinishedCopies.remove(from: target, of: tokens)
        for name in try spool.folderNames() {
            if let inner = try target.openFolder(name) { try clean(spool.openDirectory(name), inner, tokens) }
        }
    }
}
