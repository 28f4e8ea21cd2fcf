import BackupCore
import Photos

/// The photos of the app's media folder as it is now, for `photos/` at the mountpoint.
struct LivePhotoSource: PhotoSource {
    let context: TreeContext

    func photos() throws(BackupError) -> OpenPhotos { try context.livePhotos.photos(context.services.livePhotos()) }

    var mediaPath: String { "live/media" }
    var time: Timestamp { context.mountTime }
    var isImmutable: Bool { false }
    var looksAtTheApp: Bool { true }
}
