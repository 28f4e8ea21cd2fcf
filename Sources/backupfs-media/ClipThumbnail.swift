import CMedia
import PhotoData

/// The thumbnail of a clip, from its first picture. The clip is read by position: it can have any size, and may be cut off
/// meanwhile.
enum ClipThumbnail {
    /// - Returns: a JPEG; `nil` for a clip without a picture that can be decoded, which is no flaw of it.
    static func jpeg(_ form: ThumbnailForm, of source: VideoSource, isAVI: Bool) -> [UInt8]? {
        ClipReader.firstPicture(of: source, isAVI: isAVI) { jpeg(form, of: $0) }
    }

    private static func jpeg(_ form: ThumbnailForm, of frame: ClipFrame) -> [UInt8]? {
        let orientation = Int32(frame.orientation)
        return MadeThumbnail.jpeg(form) { form, jpeg, count in
            switch frame.content {
            case .image(let bytes):
                bytes.withUnsafeBytes {
                    cmedia_frame_thumbnail($0.baseAddress, $0.count, form, orientation, jpeg, count)
                }
            case .h264(let bytes, let colours):
                bytes.withUnsafeBytes {
                    var given = cmedia_colours(
                        matrix: Int32(clamping: colours.matrix ?? 0), is_full_range: colours.isFullRange ? 1 : 0)
                    let pixel = cmedia_pixel(
                        width: Int32(clamping: frame.pixelShape.width), height: Int32(clamping: frame.pixelShape.height))
                    return cmedia_h264_thumbnail($0.baseAddress, $0.count, &given, pixel, form, orientation, jpeg, count)
                }
            }
        }
    }
}
