import SystemIO

/// What a failing disk does to files.
public enum Damage {
    /// Flips bits of one byte.
    /// - Parameter offset: the byte in the middle if `nil`.
    public static func flip(_ path: String, at offset: Int? = nil, _ change: UInt8 = 1) throws {
        var bytes = try readFile(path)
        bytes[offset ?? bytes.count / 2] ^= change
        try writeFile(path, bytes)
    }

    /// The largest pack of a repository, which is the one with the files' chunks.
    public static func largestPack(of repository: String) throws -> String {
        let folder = repository + "/packs"
        let packs = try DirectoryHandle(path: folder).names().flatMap { name in
            try DirectoryHandle(path: "\(folder)/\(name)").names().map { "\(name)/\($0)" }
        }
        return try "\(folder)/"
            + (packs.max { try readFile("\(folder)/\($0)").count < readFile("\(folder)/\($1)").count } ?? "none")
    }
}
