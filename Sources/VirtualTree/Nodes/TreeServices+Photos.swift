import BackupCore
import Photos

/// An app without photos.
extension TreeServices {
    public var hasPhotos: Bool { false }
    public func livePhotos() throws(BackupError) -> PhotoIndex { throw .notFound(PhotoPlaces.viewFolderName) }
    public func knownPhoto(path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp) -> PhotoRecord? { nil }
    public func starredPhotos() throws(BackupError) -> [StarredPhoto] { [] }
    public func star(ofPhoto path: [UInt8]) throws(BackupError) -> StarredPhoto? { nil }
    public func setStarred(photo path: [UInt8], _ isStarred: Bool) throws(BackupError) { throw .readOnlyHere }
    public func photoQueueFiles(in folder: PhotoQueueFolder?) throws(BackupError) -> [FileName] { [] }
    public func photoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> [UInt8] {
        throw .notFound(name)
    }
    public var mediaFolderPath: String? { nil }
}
