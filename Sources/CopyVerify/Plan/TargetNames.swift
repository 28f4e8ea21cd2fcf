import BackupCore

/// The names and sizes that a file system can hold.
struct TargetNames: Sendable {
    private static let forbidden = Set("\"*/:<>?\\|".utf8)
    /// Of FAT32: one byte less than 4 GiB.
    private static let sizeLimit: UInt64 = (4 << 30) - 1

    /// Whether the rules of Windows apply to names.
    let hasWindowsRules: Bool
    let sizeLimitBytes: UInt64?
    /// Whether it has symbolic links; `nil` if the type does not say so.
    let hasLinks: Bool?

    /// - Parameter fileSystemType: as in the table of mounts.
    init(fileSystemType: String) {
        switch fileSystemType {
        case "vfat", "msdos", "umsdos": (hasWindowsRules, sizeLimitBytes, hasLinks) = (true, Self.sizeLimit, false)
        case "exfat": (hasWindowsRules, sizeLimitBytes, hasLinks) = (true, nil, false)
        // `fuseblk` is ntfs-3g or exfat-fuse.
        case "ntfs", "ntfs3", "fuseblk": (hasWindowsRules, sizeLimitBytes, hasLinks) = (true, nil, nil)
        default: (hasWindowsRules, sizeLimitBytes, hasLinks) = (false, nil, nil)
        }
    }

    /// - Returns: `nil` for a name that can be held.
    func problem(with name: FileName) -> Message? {
        guard hasWindowsRules else { return nil }
        guard String(validating: name.bytes, as: UTF8.self) != nil else { return "the name is not UTF-8" }
        if let byte = name.bytes.first(where: { Self.forbidden.contains($0) }) {
            return "the name has a character that this file system cannot hold: \(String(decoding: [byte], as: UTF8.self))"
        }
        if name.bytes.contains(where: { $0 < 32 }) { return "the name has a control character" }
        if let last = name.bytes.last, last == UInt8(ascii: ".") || last == UInt8(ascii: " ") {
            return "the name ends with a dot or a space"
        }
        return nil
    }

    /// - Returns: `nil` for a size that can be held.
    func problem(withSize size: UInt64) -> Message? {
        guard let sizeLimitBytes, size > sizeLimitBytes else { return nil }
        return "the file has \(size) bytes, and this file system holds files of less than 4 GiB"
    }

    /// Names of one folder that would be one name there.
    /// - Returns: pairs of them.
    func collisions(in names: [FileName]) -> [(first: FileName, second: FileName)] {
        guard hasWindowsRules else { return [] }
        var seen: [String: FileName] = [:]
        var pairs: [(FileName, FileName)] = []
        for name in names {
            let key = name.description.lowercased()
            if let first = seen[key] { pairs.append((first, name)) } else { seen[key] = name }
        }
        return pairs
    }
}
