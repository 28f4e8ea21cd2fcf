import BackupCore
import SystemIO

/// Where a backup keeps what belongs to its photos. `metadata/` and `thumbnails/` have the folders of the media folder.
public enum PhotoPlaces {
    /// The list of all photos and videos, in the backup's folder.
    public static let listName: FileName = "photos.jsonl"
    /// What each photo says of itself.
    public static let metadataFolderName: FileName = "metadata"
    /// A small picture of each photo.
    public static let thumbnailFolderName: FileName = "thumbnails"
    /// The views of the photos by date, camera and so on.
    public static let viewFolderName: FileName = "photos"

    /// The name of a photo's sidecar: `IMG_1.jpg.json`.
    /// - Parameter isTaken: whether a folder has that name, or the name cannot be that long; then it is named after the content.
    public static func sidecarName(of name: FileName, md5: MD5Digest, isTaken: (FileName) -> Bool) -> FileName {
        companionName(of: name, ".json", md5, isTaken)
    }

    /// The name of a photo's thumbnail: `IMG_1.heic.jpg`.
    /// - Parameter isTaken: as for `sidecarName`.
    public static func thumbnailName(of name: FileName, md5: MD5Digest, isTaken: (FileName) -> Bool) -> FileName {
        companionName(of: name, ".jpg", md5, isTaken)
    }

    /// The path of the photo whose thumbnail has this path, unless the thumbnail is named after its content.
    /// - Parameter path: below the folder of the thumbnails.
    public static func photoPath(ofThumbnail path: [UInt8]) -> [UInt8]? {
        path.suffix(4).elementsEqual(".jpg".utf8) ? path.dropLast(4) : nil
    }

    private static func companionName(
        of name: FileName, _ ending: String, _ md5: MD5Digest, _ isTaken: (FileName) -> Bool
    ) -> FileName {
        let usual = FileName(bytes: name.bytes + Array(ending.utf8))
        guard usual.bytes.count > FileName.byteCountLimit || isTaken(usual) else { return usual }
        return FileName(md5.hexadecimal + ending)
    }

    /// Whether a file that was not read is taken for a photo or video.
    public static func isNamedLikePhoto(_ name: FileName) -> Bool {
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return endings.contains(String(decoding: name.bytes[(dot + 1)...], as: UTF8.self).lowercased())
    }

    private static let endings: Set = [
        "jpg", "jpeg", "png", "webp", "heic", "heif", "avif", "tif", "tiff", "dng", "cr2", "cr3", "nef", "arw", "orf",
        "raf",
        "rw2", "mp4", "m4v", "mov", "3gp",
    ]

    /// The folder of a camera: its name without what a folder's name may not have.
    static func folderName(ofCamera name: String) -> FileName {
        // At most 200 bytes.
        let limitCount = 50
        let scalars = name.unicodeScalars.prefix(limitCount).map { scalar -> Unicode.Scalar in
            scalar == "/" || scalar.properties.generalCategory == .control ? "_" : scalar
        }
        let text = String(String.UnicodeScalarView(scalars)).trimmed
        let folder = FileName(text)
        return folder.isSafeComponent && !text.hasPrefix(".") ? folder : unknownCamera
    }

    static let unknownCamera: FileName = "unknown"
}

extension String {
    /// Without blanks at its ends.
    fileprivate var trimmed: String {
        guard let first = firstIndex(where: { $0 != " " }), let last = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[first...last])
    }
}
