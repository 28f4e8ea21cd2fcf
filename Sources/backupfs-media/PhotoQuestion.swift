import BackupCore
import CMedia
import CSandboxTrial
import Glibc
import PhotoData

/// One request and its file.
struct PhotoQuestion {
    /// Larger photos would take more addresses than the process may have. Videos are read in parts and can have any size.
    private static let photoLimitBytes: Int64 = 1 << 30

    private let request: MediaRequest
    private let descriptor: Int32

    init(_ request: MediaRequest, descriptor: Int32) {
        (self.request, self.descriptor) = (request, descriptor)
    }

    func answer() -> MediaAnswer {
        switch request.kind {
        case .ready: return MediaAnswer(request, .found)
        case .attempt:
            var writer = ByteWriter()
            writer.append(sandbox_attempt(Int32(truncatingIfNeeded: request.argument), descriptor))
            return MediaAnswer(request, .found, content: writer.bytes)
        case .picture: return picture()
        case .metadata, .thumbnail:
            let size = cmedia_file_size(descriptor)
            guard size >= 0 else { return MediaAnswer(request, .damaged) }
            let prefix = read(at: 0, count: Int(min(size, Int64(ContentKind.prefixByteCount)))) ?? []
            guard let kind = ContentKind(prefix: prefix) else { return MediaAnswer(request, .nothing) }
            if request.kind == .thumbnail, kind.isClip { return thumbnail(of: kind, size) }
            if case .video(let contentType) = kind { return video(contentType, size) }
            // It says nothing that is looked for.
            if kind == .avi { return MediaAnswer(request, .nothing) }
            guard size <= Self.photoLimitBytes else { return MediaAnswer(request, .tooLarge) }
            guard let bytes = cmedia_map(descriptor, Int(size)) else { return MediaAnswer(request, .tooLarge) }
            defer { cmedia_unmap(bytes, Int(size)) }
            let image = MappedPhoto(kind: kind, bytes: UnsafeRawBufferPointer(start: bytes, count: Int(size)))
            return request.kind == .metadata ? metadata(image) : thumbnail(image)
        }
    }

    private func read(at offset: UInt64, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let added = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { pread(descriptor, $0 + filled, count - filled, off_t(offset) + off_t(filled)) } ?? 0
            }
            guard added > 0 else { return nil }
            filled += added
        }
        return bytes
    }

    private func source(_ size: Int64) -> VideoSource {
        VideoSource(byteCount: UInt64(size)) { offset, count in read(at: offset, count: count) }
    }

    private func video(_ contentType: String, _ size: Int64) -> MediaAnswer {
        do throws(VideoError) {
            guard let video = try VideoReader.metadata(of: source(size), contentType: contentType) else {
                return MediaAnswer(request, .damaged)
            }
            return MediaAnswer(request, .found, content: video.encoded)
        } catch {
            return MediaAnswer(request, .damaged)
        }
    }

    private func thumbnail(of clip: ContentKind, _ size: Int64) -> MediaAnswer {
        guard let form = ThumbnailForm(argument: request.argument) else { return MediaAnswer(request, .damaged) }
        guard let thumbnail = ClipThumbnail.jpeg(form, of: source(size), isAVI: clip == .avi) else {
            return MediaAnswer(request, .nothing)
        }
        return MediaAnswer(request, .found, content: thumbnail)
    }

    private func metadata(_ image: MappedPhoto) -> MediaAnswer {
        guard let metadata = image.metadata() else { return MediaAnswer(request, .damaged) }
        return MediaAnswer(request, .found, content: metadata.encoded)
    }

    private func thumbnail(_ image: MappedPhoto) -> MediaAnswer {
        guard let form = ThumbnailForm(argument: request.argument), let thumbnail = image.thumbnail(form) else {
            return MediaAnswer(request, .damaged)
        }
        return MediaAnswer(request, .found, content: thumbnail)
    }

    /// Only of what is no longer than a thumbnail, and a JPEG.
    private func picture() -> MediaAnswer {
        let size = cmedia_file_size(descriptor)
        guard size > 0 else { return MediaAnswer(request, .damaged) }
        guard size < PhotoLimits.thumbnailBytes, request.argument <= PhotoLimits.thumbnailPixels else {
            return MediaAnswer(request, .tooLarge)
        }
        guard let bytes = read(at: 0, count: Int(size)), bytes.starts(with: [0xFF, 0xD8, 0xFF]) else {
            return MediaAnswer(request, .nothing)
        }
        var png: UnsafeMutablePointer<UInt8>?
        var count = 0
        let problem = bytes.withUnsafeBytes { jpeg in
            cmedia_picture(jpeg.baseAddress, jpeg.count, Int32(request.argument), PhotoLimits.pictureBytes, &png, &count)
        }
        guard problem == nil, let png else { return MediaAnswer(request, .damaged) }
        defer { cmedia_free(png) }
        return MediaAnswer(request, .found, content: Array(UnsafeBufferPointer(start: png, count: count)))
    }
}
