import BackupCore
import Photos

/// The photos of the app's media folder as it is now, for `photos/` at the mountpoint.
struct LivePhotoSource: PhotoSource {
    let context: TreeContext

    func photos() throws(BackupError) -> OpenPhotos { try context.livePhotos.photos(context.services.livePhotos()) }

    var mediaPath: String { "live/media" }
    var time: Timestamp { context.mountTime }
    var isImmutable: Bool { false }
    /// The stars can be changed: `StarredFolder` shows them.
    var viewNames: [FileName] { PhotoViews.folderNames.filter { $0 != PhotoViews.starredFolderName } }
    var looksAtTheApp: Bool { true }
}
