import BackupCore

/// The pictures that cameras put beside their clips: they show clips in formats that no decoder here knows.
enum CardPicture {
    /// Where the picture of a clip may be, the likeliest place first. The paths are below the same folder as that of the clip.
    /// - Returns: none for what is no clip by its name.
    static func paths(of clip: [FileName]) -> [[FileName]] {
        guard let name = clip.last else { return [] }
        let folder = Array(clip.dropLast())
        let keys = folder.map { NamePattern.key($0.bytes) }
        guard case .clip = ClipName(NamePattern.key(name.bytes), in: keys), let dot = name.bytes.lastIndex(of: UInt8(ascii: "."))
        else { return [] }
        let stem = Array(name.bytes[..<dot])
        func file(_ ending: String, _ folder: [FileName]) -> [FileName] { folder + [FileName(bytes: stem + ending.utf8)] }
        // Canon, GoPro and others: a JPEG.
        var paths = [file(".THM", folder), file(".thm", folder)]
        // Sony XAVC: M4ROOT/CLIP/C0001.MP4 and M4ROOT/THMBNL/C0001T01.JPG.
        if let last = keys.last, matches("CLIP", last) {
            paths.append(file("T01.JPG", folder.dropLast() + ["THMBNL"]))
        }
        // DJI: DCIM/100MEDIA/DJI_0001.MP4 and MISC/THM/100/DJI_0001.THM.
        if keys.count >= 2, let last = keys.last, matches("###*", last), matches("DCIM", keys[keys.count - 2]) {
            let number = FileName(bytes: Array(last.prefix(3)))
            paths.append(file(".THM", folder.dropLast(2) + ["MISC", "THM", number]))
        }
        return paths
    }

    /// Whether a file is such a picture, or a small copy of a clip: the clip itself is shown.
    static func isBeside(_ path: [FileName]) -> Bool {
        guard let name = path.last.map({ NamePattern.key($0.bytes) }) else { return false }
        if besideNames.contains(where: { $0.matches(name) }) { return true }
        guard let folder = path.dropLast().last.map({ NamePattern.key($0.bytes) }) else { return false }
        return besideNamesInFolders.contains { $0.folder.matches(folder) && $0.name.matches(name) }
    }

    /// Pictures of DJI, Canon and GoPro; small copies of GoPro, DJI and Insta360.
    private static let besideNames: [NamePattern] = ["*.THM", "*.SCR", "*.LRV", "*.LRF", "LRV_*"]
    /// Sony's pictures and small copies.
    private static let besideNamesInFolders: [(folder: NamePattern, name: NamePattern)] = [
        ("THMBNL", "*T##.JPG"), ("SUB", "*S##.MP4"),
    ]

    private static func matches(_ pattern: NamePattern, _ name: [UInt8]) -> Bool { pattern.matches(name) }
}
