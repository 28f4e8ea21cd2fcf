import BackupCore
import Formats
import PhotoData

/// The file `metadata/….json` of a photo in a backup: all that the photo says of itself. It depends on nothing but the bytes of
/// the photo, so equal photos share one.
public enum PhotoSidecar {
    /// - Parameter outcome: what reading it came to; one that was not read has no sidecar.
    /// - Returns: `nil` for a file that is no photo or video, and for one that was not read.
    public static func text(
        of checksums: Checksums, sizeBytes: UInt64, _ outcome: MediaOutcome<PhotoMetadata>
    ) -> [UInt8]? {
        func text(_ status: String, _ reason: String?, _ rest: OrderedJSON) -> [UInt8] {
            let head: OrderedJSON = [
                "md5": checksums.md5.hexadecimal, "sha256": checksums.sha256.hexadecimal, "size_bytes": sizeBytes,
                "status": status, "reason": reason,
            ]
            return head.adding(rest).prettyText
        }
        switch outcome {
        case .found(let photo): return text("read", nil, PhotoDocument(photo: photo, hasTags: true).json)
        case .unreadable(let reason): return text("unreadable", reason.rawValue, [:])
        case .nothing, .helperMissing: return nil
        }
    }

    /// The caption of a photo.
    /// - Returns: `nil` for a sidecar without one, and for what is no sidecar.
    public static func caption(in text: [UInt8]) -> String? { OrderedJSON(parsing: text)?["caption"]?.textValue }
}
