/// The names of some files of a snapshot in its archive, where they do not follow from the
/// paths: an app may name photos by the keys of their records. A file may have several.
public struct ArchiveNames: Sendable {
    public static let none = ArchiveNames([:], listsFilledFolders: true)

    /// Whether non-empty folders have entries of their own. Some apps reject archives that contain any; an empty folder always needs one.
    public let listsFilledFolders: Bool
    /// Paths in the snapshot, and the corresponding ones in the archive.
    private let named: [[UInt8]: [[UInt8]]]
    private let taken: Set<[UInt8]>

    public init(_ named: [[UInt8]: [[UInt8]]], listsFilledFolders: Bool) {
        self.named = named
        self.listsFilledFolders = listsFilledFolders
        taken = Set(named.values.joined())
    }

    /// - Parameter usual: the path of a file without a name of its own. If another file has that path, it gets a number: `beach_2.jpg`.
    public func paths(of path: [UInt8], usual: [UInt8]) -> [[UInt8]] {
        if let names = named[path] { return names }
        guard taken.contains(usual) else { return [usual] }
        let start = usual.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let dot = usual[start...].lastIndex(of: UInt8(ascii: ".")) ?? usual.endIndex
        for number in 2... {
            let candidate = usual[..<dot] + Array("_\(number)".utf8) + usual[dot...]
            if !taken.contains(Array(candidate)) { return [Array(candidate)] }
        }
        return [usual]
    }
}
