import BackupCore

/// What a file of a card is, by its name and folder.
enum ClipName: Equatable {
    /// A file that belongs to a clip, or to nothing: metadata, a thumbnail, a proxy, sound.
    case other
    /// A photo. Files of one stem are one photo (raw and JPEG).
    case photo(stem: [UInt8])
    /// A clip, or a part of one: parts have numbers from 1.
    case clip(key: [UInt8], part: Int?)

    /// - Parameters:
    ///   - name: a key.
    ///   - folders: the keys of the folders above, the innermost last.
    init(_ name: [UInt8], in folders: [[UInt8]]) {
        self = .other
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot + 1 < name.count else { return }
        let ending = String(decoding: name[(dot + 1)...], as: UTF8.self)
        let isPhoto = Self.photos.contains(ending)
        guard isPhoto || Self.clips.contains(ending) else { return }
        let stem = Array(name[..<dot])
        if ending == "DNG", let frame = Self.frame(stem, digitCount: 6, separator: UInt8(ascii: "_")) {
            self = .clip(key: frame, part: nil)
        } else {
            self = isPhoto ? .photo(stem: stem) : Self.clip(stem, ending, folders)
        }
    }

    private static let photos: Set<String> = [
        "JPG", "JPEG", "HEIC", "HIF", "CR2", "CR3", "NEF", "NRW", "ARW", "RAF", "RW2", "DNG", "GPR", "INSP", "PNG", "TIF",
    ]
    private static let clips: Set<String> = [
        "MP4", "MOV", "MXF", "MTS", "M2TS", "AVI", "R3D", "BRAW", "ARI", "ARX", "CRM", "NEV", "INSV", "360", "MKV", "MPG", "M4V",
    ]
    /// Proxies, thumbnails and sound of clips.
    private static let sideFolders: [NamePattern] = ["SUB", "PROXY", "PROXIES", "THMBNL", "ICON", "VOICE", "AUDIO"]

    /// Whether the files of a folder belong to clips in other folders.
    static func isBeside(_ folder: [UInt8]) -> Bool { sideFolders.contains { $0.matches(folder) } }

    private static func clip(_ stem: [UInt8], _ ending: String, _ folders: [[UInt8]]) -> ClipName {
        if matches("LRV_*", stem) { return .other }
        if matches("G@######", stem),
            [UInt8(ascii: "X"), UInt8(ascii: "H"), UInt8(ascii: "L"), UInt8(ascii: "S")].contains(stem[1])
        {
            // GoPro: the chapter, and then the number of the clip.
            return .clip(key: Array(stem[..<2] + stem[4...]), part: number(stem[2..<4]))
        }
        if matches("GOPR####", stem) { return .clip(key: Array("GP".utf8) + stem[4...], part: 1) }
        if matches("GP######", stem) {
            return .clip(key: Array("GP".utf8) + stem[4...], part: number(stem[2..<4]).map { $0 + 1 })
        }
        if ending == "R3D", let frame = frame(stem, digitCount: 3, separator: UInt8(ascii: "_")) {
            return .clip(key: frame, part: number(stem.suffix(3)))
        }
        if ending == "ARI" || ending == "ARX" {
            return .clip(key: frame(stem, digitCount: 7, separator: UInt8(ascii: ".")) ?? stem, part: nil)
        }
        // Insta360: a file for each lens.
        if matches("VID_########_######_##_###", stem) { return .clip(key: Array(stem[..<19] + stem[22...]), part: nil) }
        if ending == "MXF", folders.count >= 2, matches("CLIPS*", folders[folders.count - 2]), matches("@@######", stem),
            folders.last.map({ stem.starts(with: $0) }) == true
        {
            // Canon XF: files of at most 2 GB.
            return .clip(key: Array(stem[..<6]), part: number(stem[6...]))
        }
        if folders.count >= 2, matches("CLPR", folders[folders.count - 2]), let take = frame(stem, digitCount: 2, separator: 95) {
            // XDCAM EX: files of at most 4 GB, each in a folder of its own.
            return number(stem.suffix(2)) == 1 ? .clip(key: take, part: nil) : .other
        }
        return .clip(key: stem, part: nil)
    }

    private static func matches(_ pattern: NamePattern, _ name: [UInt8]) -> Bool { pattern.matches(name) }

    /// - Returns: the stem without its last digits; `nil` for one that does not end so.
    private static func frame(_ stem: [UInt8], digitCount: Int, separator: UInt8) -> [UInt8]? {
        guard let last = stem.lastIndex(of: separator), last > 0, stem.count - last - 1 >= digitCount,
            number(stem[(last + 1)...]) != nil
        else { return nil }
        return Array(stem[..<last])
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int? { Int(String(decoding: digits, as: UTF8.self)) }
}
