import BackupCore

/// Maps the files of an archive to paths in the media folder.
struct ArchiveMediaPaths: Sendable {
    static let snapshotPrefix = Array("media/".utf8)

    /// The layout that the archive was created with.
    let layout: ArchivePathMap

    /// The path below the media folder; empty for the folder itself, `nil` for other files. If the layout leaves media out, they are looked up at their
    /// snapshot paths.
    func mediaPath(of archivePath: [UInt8]) -> [UInt8]? {
        guard let path = layout.snapshotPath(of: archivePath) ?? (isLeftOut ? archivePath : nil),
            path.starts(with: Self.snapshotPrefix)
        else { return nil }
        return Array(path.dropFirst(Self.snapshotPrefix.count))
    }

    /// The path in the archive of a file in the media folder.
    /// - Parameter mediaPath: empty for the folder.
    func archivePath(of mediaPath: [UInt8]) -> [UInt8] {
        let path = Self.snapshotPrefix + mediaPath
        return layout.archivePath(of: path) ?? path
    }

    private var isLeftOut: Bool { layout.archivePath(of: Self.snapshotPrefix) == nil }
}
