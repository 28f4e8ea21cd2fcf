import BackupCore

/// The names that media files of an archive get because other files have theirs, and which of those are wanted. Paths are relative to the
/// media folder. Used by one thread.
public final class MediaNames {
    private static let slash = UInt8(ascii: "/")

    private let newPaths: [[UInt8]: [UInt8]]
    /// Files with new names that a record names which is not skipped.
    private var wanted: Set<[UInt8]> = []
    private var skipped: Set<[UInt8]> = []

    /// - Parameter newPaths: for each file that gets another name: its path in the archive and its new one.
    public init(newPaths: [[UInt8]: [UInt8]]) { self.newPaths = newPaths }

    var isEmpty: Bool { newPaths.isEmpty }

    /// Whether only records name the file that were skipped: then those who have it do not need a second version of it.
    public func isNamedBySkippedRecordsOnly(_ path: [UInt8]) -> Bool { skipped.contains(path) && !wanted.contains(path) }

    func note(_ path: [UInt8], isSkipped: Bool) {
        if isSkipped { skipped.insert(path) } else { wanted.insert(path) }
    }

    /// - Parameter value: a path relative to the media folder, or one of another machine that ends with it.
    /// - Returns: the path in the archive of the file it names, and the value that names it under its new name; `nil` when it names no file
    ///   with a new name.
    func renamed(_ value: UnsafeRawBufferPointer) -> (path: [UInt8], value: [UInt8])? {
        guard !newPaths.isEmpty else { return nil }
        var start = 0
        while true {
            let path = Array(value[start...])
            if let newPath = newPaths[path] { return (path, Array(value[..<start]) + newPath) }
            guard let next = value[start...].firstIndex(of: Self.slash) else { return nil }
            start = next + 1
        }
    }

    /// What of a value tells one file from another: the relative path, or, of a path of some machine, its last component.
    static func identifyingPart(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isForeign = value.first == slash || value.firstRange(of: Array("://".utf8)) != nil
        guard isForeign, let last = value.lastIndex(of: slash) else { return value }
        return UnsafeRawBufferPointer(rebasing: value[(last + 1)...])
    }
}
