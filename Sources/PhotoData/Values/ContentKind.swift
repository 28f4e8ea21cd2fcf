/// What a file is, by its first bytes. Everything else is not given to any decoder.
public enum ContentKind: Sendable, Equatable {
    /// JPEG, PNG, TIFF, WebP and formats of RAW that are like TIFF.
    case image
    /// HEIC, AVIF: the container describes rotations.
    case heif
    /// RAW formats, whose embedded preview is the picture to show.
    case raw
    /// MP4, MOV and their kin, with the MIME type.
    case video(contentType: String)
    /// A movie in RIFF.
    case avi

    /// Whether it is a movie.
    public var isClip: Bool {
        switch self {
        case .video, .avi: true
        case .image, .heif, .raw: false
        }
    }

    /// How many of the first bytes `init` looks at.
    public static let prefixByteCount = 64

    /// - Returns: `nil` for what is no photo or video that can be read.
    public init?(prefix: [UInt8]) {
        func has(_ text: String, at offset: Int = 0) -> Bool {
            prefix.count >= offset + text.utf8.count && prefix[offset...].starts(with: text.utf8)
        }
        if prefix.starts(with: [0xFF, 0xD8, 0xFF]) || prefix.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .image
        } else if has("RIFF"), has("WEBP", at: 8) {
            self = .image
        } else if has("RIFF"), has("AVI ", at: 8) {
            self = .avi
        } else if prefix.starts(with: [0x49, 0x49, 0x2A, 0]) || prefix.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
            // CR2 has a mark here. Other RAW formats differ from TIFF only in their tags.
            self = has("CR", at: 8) ? .raw : .image
        } else if has("IIRO") || has("IIRS") || has("MMOR") || has("FUJIFILMCCD-RAW")
            || prefix.starts(with: [0x49, 0x49, 0x55, 0])
        {
            self = .raw
        } else if has("ftyp", at: 4) {
            self.init(brands: Self.brands(prefix))
        } else if ["moov", "mdat", "wide", "free", "skip", "pnot"].contains(where: { has($0, at: 4) }) {
            // QuickTime from before it had `ftyp`.
            self = .video(contentType: "video/quicktime")
        } else {
            return nil
        }
    }

    /// The MIME type of an `image`, by its first bytes.
    public static func imageType(_ prefix: [UInt8]) -> String {
        switch prefix.first {
        case 0xFF: "image/jpeg"
        case 0x89: "image/png"
        case UInt8(ascii: "R"): "image/webp"
        default: "image/tiff"
        }
    }

    /// The MIME type of a `heif`, by its major brand.
    public static func heifType(_ prefix: [UInt8]) -> String {
        switch brands(prefix).first ?? "" {
        case "avif", "avis": "image/avif"
        case "heic", "heix", "heim", "heis": "image/heic"
        default: "image/heif"
        }
    }

    /// The major brand, and the compatible ones as far as the prefix has them.
    private static func brands(_ prefix: [UInt8]) -> [String] {
        guard prefix.count >= 12 else { return [] }
        let length = prefix[..<4].reduce(0) { $0 << 8 | Int($1) }
        let starts = [8] + stride(from: 16, to: min(length, prefix.count) - 3, by: 4)
        return starts.map { String(decoding: prefix[$0..<$0 + 4], as: UTF8.self) }
    }

    private init?(brands: [String]) {
        guard let major = brands.first else { return nil }
        switch major {
        case "heic", "heix", "heim", "heis", "hevc", "hevx", "avif", "avis", "mif1", "msf1", "miaf": self = .heif
        case "crx ": self = .raw
        case "qt  ": self = .video(contentType: "video/quicktime")
        case "M4V ", "M4VH", "M4VP": self = .video(contentType: "video/x-m4v")
        case _ where major.hasPrefix("3gp"): self = .video(contentType: "video/3gpp")
        case _ where major.hasPrefix("3g2"): self = .video(contentType: "video/3gpp2")
        case "M4A ", "M4B ", "jp2 ", "jpx ": return nil
        default: self = brands.contains("heic") || brands.contains("avif") ? .heif : .video(contentType: "video/mp4")
        }
    }
}
