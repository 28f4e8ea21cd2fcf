import Formats

/// Where the entries of an archive go.
enum ArchiveLocations {
    /// Every entry has a place of its own, below the folder that it is unpacked to.
    static func require(_ entries: [ArchiveEntry], _ limits: ArchiveLimits) throws {
        var files: Set<[UInt8]> = []
        var folders: Set<[UInt8]> = []
        for entry in entries {
            let path = entry.isDirectory ? Array(entry.path.dropLast()) : entry.path
            let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            try FuzzViolation.require(
                parts.allSatisfy { !$0.isEmpty && $0 != [46] && $0 != [46, 46] && $0.count <= 255 && !$0.contains(0) },
                "the path \(entry.name) is not safe")
            try FuzzViolation.require(
                limits.acceptsUnixBackslashes || !path.contains(UInt8(ascii: "\\")), "the path \(entry.name) has a backslash")
            try FuzzViolation.require(limits.acceptsSymbolicLinks || !entry.isSymbolicLink, "\(entry.name) is a link")
            let isNew = entry.isDirectory ? !folders.contains(path) || !files.contains(path) : files.insert(path).inserted
            try FuzzViolation.require(isNew, "two entries are \(entry.name)")
            for count in 1..<max(1, parts.count) { folders.insert(Array(parts[..<count].joined(separator: [UInt8(ascii: "/")]))) }
            if entry.isDirectory { folders.insert(path) }
        }
        try FuzzViolation.require(files.isDisjoint(with: folders), "a file is a folder too")
    }
}
