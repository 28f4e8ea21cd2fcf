import BackupCore

/// The names of records' files in the app's archive.
public enum ArchiveNaming: String, Sendable, CaseIterable {
    /// As in the media folder.
    case plain
    /// With the key of their record: `7_beach.jpg`. A name that already begins so stays. One that becomes too long is shortened, and keeps its extension.
    case keyed

    /// - Parameters:
    ///   - path: the file's path below the media folder.
    ///   - key: the record's key, as text.
    public func name(of path: [UInt8], key: String) -> [UInt8] {
        guard self == .keyed else { return path }
        let name = BytePath.lastComponent(of: path)
        let prefix = Array("\(key)_".utf8)
        return name.starts(with: prefix) && name.count > prefix.count ? name : FileName.fitting(prefix + name)
    }
}
