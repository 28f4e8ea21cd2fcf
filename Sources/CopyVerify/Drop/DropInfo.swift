import BackupCore
import SystemIO

/// What has been copied into a set so far, under the names that the files have in the end.
struct DropInfo: Sendable {
    private var info: SourceInfo
    /// Files that have temporary names.
    private var temporary: [[FileName]: FileStatus] = [:]

    /// - Parameter source: as in the record of the job.
    init(_ source: String) { info = SourceInfo(path: source) }

    mutating func add(_ path: [FileName], _ status: FileStatus, isTemporary: Bool) {
        guard let name = path.last else { return }
        if isTemporary { temporary[path] = status } else { info.add(name, status) }
    }

    mutating func rename(_ path: [FileName], to newPath: [FileName], isTemporary: Bool) {
        guard let status = temporary.removeValue(forKey: path) else { return }
        add(newPath, status, isTemporary: isTemporary)
    }

    mutating func forget(_ path: [FileName]) { temporary[path] = nil }

    /// At the end of the job: some programs do not rename their files.
    var whole: SourceInfo {
        var whole = info
        for (path, status) in temporary { if let name = path.last { whole.add(name, status) } }
        return whole
    }
}
