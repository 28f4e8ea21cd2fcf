import BackupCore
import ObjectStorage
import Photos
import SystemIO

/// The bucket that photos are restored from: that of a store's settings, or one that no store knows.
public struct PhotoRestoreSource: Sendable {
    public let bucket: PhotoBucket

    /// Needs no store.
    public init(_ remote: RemoteSettings) throws(BackupError) {
        bucket = PhotoBucket(try remote.openWithoutStore())
    }

    /// Needs no more of the store than its settings.
    /// - Parameter name: of the remote; `nil` for the one of kind photos.
    /// - Throws: `usage` when the store has none; `notFound` for another name.
    public init(storeAt path: String, remote name: String?) throws(BackupError) {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        let file = try SettingsFile(storeAt: path)
        guard let remote = try file.photosRemote() else { throw PhotoUpload.noRemote(paths.settings) }
        if let name, name != remote.name {
            throw BackupError(
                .notFound, "there is no remote for photos “\(MessageText.shortened(name))”", path: paths.settings,
                remedy: "It is: \(remote.name)")
        }
        bucket = PhotoBucket(try remote.open(in: paths, isReadOnly: true))
    }
}
