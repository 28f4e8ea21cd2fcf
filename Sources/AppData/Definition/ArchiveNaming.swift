import BackupCore

/// How the files of records are called in the app's archive.
public enum ArchiveNaming: String, Sendable, CaseIterable {
    /// As they lie in the media folder.
    case plain
    /// By the key of their record: `7_beach.jpg`. A name that begins so already stays. One that becomes too long is shortened, and keeps its ending.
    case keyed

    /// - Parameters:
    ///   - path: the file's, below the media folder.
    ///   - key: its record's, as text.
    public func name(of path: [UInt8], key: String) -> [UInt8] {
        guard self == .keyed else { return path }
        let name = BytePath.lastComponent(of: path)
        let prefix = Array("\(key)_".utf8)
        return name.starts(with: prefix) && name.count > prefix.count ? name : FileName.fitting(prefix + name)
    }
}
