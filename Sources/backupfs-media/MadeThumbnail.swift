import CMedia
import PhotoData

/// A small picture that the libraries have made.
enum MadeThumbnail {
    typealias Bytes = UnsafeMutablePointer<UInt8>

    /// - Parameter make: calls one of the functions that make a JPEG, which return why there is none.
    /// - Returns: `nil` when there is none.
    static func jpeg(
        _ form: ThumbnailForm,
        _ make: (UnsafePointer<cmedia_form>, UnsafeMutablePointer<Bytes?>, UnsafeMutablePointer<Int>) -> UnsafePointer<CChar>?
    ) -> [UInt8]? {
        var wanted = cmedia_form(
            side: Int32(form.pixels), limit_bytes: PhotoLimits.thumbnailBytes, quality: Int32(form.quality),
            stretches: form.isStretched ? 1 : 0)
        var jpeg: Bytes?
        var count = 0
        let problem = make(&wanted, &jpeg, &count)
        guard problem == nil, let jpeg else { return nil }
        defer { cmedia_free(jpeg) }
        return Array(UnsafeBufferPointer(start: jpeg, count: count))
    }
}
