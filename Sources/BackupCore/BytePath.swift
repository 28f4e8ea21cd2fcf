/// Paths as file systems and archives store them: components joined by `/`, which may contain any other bytes.
public enum BytePath {
    private static let slash = UInt8(ascii: "/")

    public static func components(of path: [UInt8]) -> [FileName] {
        path.split(separator: slash).map { FileName(bytes: Array($0)) }
    }

    /// The part after the last slash.
    public static func lastComponent(of path: [UInt8]) -> [UInt8] {
        path.lastIndex(of: slash).map { Array(path[($0 + 1)...]) } ?? path
    }

    /// The part before the last slash; empty when there is none.
    public static func folder(of path: [UInt8]) -> [UInt8] { path.lastIndex(of: slash).map { Array(path[..<$0]) } ?? [] }

    /// The path of `name` in a folder; an empty folder is the root of the paths.
    public static func join(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] { folder.isEmpty ? name : folder + [slash] + name }
}
