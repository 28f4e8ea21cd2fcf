import CMedia
import Glibc
import PhotoData

/// A photo whose bytes are mapped into memory. The process dies when the file is truncated meanwhile, which costs this photo
/// alone.
struct MappedPhoto {
    /// Of formats that begin as TIFF does, and whose first picture is a small one or none that libvips knows.
    private static let rawTypes: Set<String> = [
        "image/x-canon-cr2", "image/x-nikon-nef", "image/x-sony-arw", "image/x-adobe-dng", "image/x-olympus-orf",
        "image/x-fuji-raf", "image/x-pentax-pef", "image/x-samsung-srw", "image/x-panasonic-rw2", "image/x-canon-cr3",
        "image/x-dcraw",
    ]

    let kind: ContentKind
    let bytes: UnsafeRawBufferPointer

    /// - Returns: `nil` when no decoder can make sense of it.
    func metadata() -> PhotoMetadata? {
        let read = readTags()
        let (tags, facts) = read ?? (TagCollection(), cmedia_facts())
        var (width, height) = (Int(facts.width), Int(facts.height))
        var isUpright = false
        // In HEIF, the container says how the picture is turned, and the tag for it does not count. A picture may also be
        // sound where its tags are not.
        if kind == .heif || read == nil {
            var (shownWidth, shownHeight): (Int32, Int32) = (0, 0)
            if cmedia_displayed_size(bytes.baseAddress, bytes.count, &shownWidth, &shownHeight) == 0 {
                (width, height, isUpright) = (Int(shownWidth), Int(shownHeight), kind == .heif)
            } else if read == nil {
                return nil
            }
        }
        return PhotoFields.metadata(
            from: tags, contentType: contentType(facts, tags), width: width, height: height, isUpright: isUpright)
    }

    /// - Returns: a JPEG; `nil` when there is no picture that can be decoded.
    func thumbnail(_ form: ThumbnailForm) -> [UInt8]? {
        let read = readTags()
        let orientation = read.flatMap { PhotoFields.orientation($0.tags) }
        let isRaw = kind == .raw || read.map { Self.rawTypes.contains(contentType($0.facts, $0.tags)) } ?? false
        return MadeThumbnail.jpeg(form) { form, jpeg, count in
            cmedia_thumbnail(bytes.baseAddress, bytes.count, form, isRaw ? 1 : 0, Int32(orientation ?? 1), jpeg, count)
        }
    }

    private func readTags() -> (tags: TagCollection, facts: cmedia_facts)? {
        var tags = TagCollection()
        let facts = Self.read(bytes, into: &tags)
        guard kind == .heif else { return facts.map { (tags, $0) } }
        // A TIFF or packet alone is a format of its own to exiv2, which may make other tags of it, too.
        for (prefix, isThere, content) in [
            ("Exif.", tags.hasExif, HEIFItems.exif), ("Xmp.", tags.hasXMP, HEIFItems.xmpPacket),
        ] where !isThere {
            var more = TagCollection()
            if let content = content(source), content.withUnsafeBytes({ Self.read($0, into: &more) }) != nil {
                tags.add(more, prefix: prefix)
            }
        }
        return facts == nil && tags.tags.isEmpty ? nil : (tags, facts ?? cmedia_facts())
    }

    /// The mapped bytes, read by position.
    private var source: VideoSource {
        VideoSource(byteCount: UInt64(bytes.count)) { offset, count in
            guard let start = Int(exactly: offset), count >= 0, start <= bytes.count, count <= bytes.count - start else {
                return nil
            }
            return Array(bytes[start..<start + count])
        }
    }

    private static func read(_ bytes: UnsafeRawBufferPointer, into tags: inout TagCollection) -> cmedia_facts? {
        var facts = cmedia_facts()
        // The reader is called only until the call returns, so that the pointer to the local variable stays valid.
        let problem = withUnsafeMutablePointer(to: &tags) { collection in
            cmedia_read_metadata(
                bytes.baseAddress, bytes.count, &facts,
                { context, tag in
                    guard let collection = context?.assumingMemoryBound(to: TagCollection.self), let tag = tag?.pointee,
                        let key = tag.key
                    else { return }
                    let name = String(cString: key)
                    if let value = tag.value {
                        let text = UnsafeBufferPointer(start: value, count: strlen(value))
                        collection.pointee.add(name, PhotoText.decoded(text.lazy.map { UInt8(bitPattern: $0) }))
                    } else {
                        collection.pointee.add(name, bytes: Array(UnsafeBufferPointer(start: tag.raw, count: tag.raw_count)))
                    }
                }, collection)
        }
        return problem == nil ? facts : nil
    }

    private func contentType(_ facts: cmedia_facts, _ tags: TagCollection) -> String {
        let type = withUnsafeBytes(of: facts.content_type) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        // exiv2 does not know each brand, and nothing of what it cannot read.
        if kind == .heif, !["image/heic", "image/heif", "image/avif"].contains(type) {
            return ContentKind.heifType(Array(prefix))
        }
        if !type.isEmpty, type != "image/tiff" { return type }
        // exiv2 takes some formats of RAW for TIFF.
        return tags.rawContentType ?? ContentKind.imageType(Array(prefix))
    }

    private var prefix: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes.prefix(ContentKind.prefixByteCount)) }
}
