import BackupCore
import Photos
import SystemIO

/// An app without photos.
extension TreeServices {
    public var hasPhotos: Bool { false }
    public func livePhotos() throws(BackupError) -> PhotoIndex { throw .notFound(PhotoPlaces.viewFolderName) }
    public func knownPhoto(path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp) -> PhotoRecord? { nil }
    public func starredPhotos() throws(BackupError) -> [StarredPhoto] { [] }
    public func starredPhoto(named name: FileName) throws(BackupError) -> StarredPhoto? { nil }
    public func star(ofPhoto path: [UInt8]) throws(BackupError) -> StarredPhoto? { nil }
    public func setStarred(photo path: [UInt8], _ isStarred: Bool) throws(BackupError) { throw .readOnlyHere }
    public func makePhotoDraft() throws(BackupError) -> CopyDraft { throw .readOnlyHere }
    public func starPhoto(
        _ draft: CopyDraft, named name: FileName, over starred: StarredPhoto?, if isWanted: () -> Bool
    ) throws(BackupError) -> SHA256Digest { throw .readOnlyHere }
    public func setAside(_ draft: CopyDraft, named name: FileName) { _ = try? draft.setAside() }
    public func openKeptPhoto(_ sha256: SHA256Digest, orPhoto path: String?) throws(BackupError) -> SharedFile {
        throw .readOnlyHere
    }
    public func photoQueueFiles(in folder: PhotoQueueFolder?) throws(BackupError) -> [FileName] { [] }
    public func cancelPhoto(queueFile name: FileName) throws(BackupError) { throw .readOnlyHere }
    public func hasPhotoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> Bool { false }
    public func photoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> [UInt8] {
        throw .notFound(name)
    }
    public var mediaFolderPath: String? { nil }
}
