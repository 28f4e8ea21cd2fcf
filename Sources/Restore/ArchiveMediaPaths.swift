import BackupCore

/// Which files of an archive belong to the media folder, and where in it.
struct ArchiveMediaPaths: Sendable {
    static let snapshotPrefix = Array("media/".utf8)

    /// What the archive was made with.
    let layout: ArchivePathMap

    /// The path below the media folder; empty for the folder itself, `nil` for what is not in it. Media that the layout leaves out are looked for where a
    /// snapshot has them.
    func mediaPath(of archivePath: [UInt8]) -> [UInt8]? {
        guard let path = layout.snapshotPath(of: archivePath) ?? (isLeftOut ? archivePath : nil),
            path.starts(with: Self.snapshotPrefix)
        else { return nil }
        return Array(path.dropFirst(Self.snapshotPrefix.count))
    }

    /// The path in the archive of a file of the media folder.
    /// - Parameter mediaPath: empty for the folder.
    func archivePath(of mediaPath: [UInt8]) -> [UInt8] {
        let path = Self.snapshotPrefix + mediaPath
        return layout.archivePath(of: path) ?? path
    }

    private var isLeftOut: Bool { layout.archivePath(of: Self.snapshotPrefix) == nil }
}
