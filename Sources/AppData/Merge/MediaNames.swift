import BackupCore

/// The new names of an archive's media files whose names other files have, and which of those files are needed. Paths are relative to the media
/// folder. For one thread.
public final class MediaNames {
    private static let slash = UInt8(ascii: "/")

    private let newPaths: [[UInt8]: [UInt8]]
    /// Renamed files that a record which is not skipped names.
    private var wanted: Set<[UInt8]> = []
    private var skipped: Set<[UInt8]> = []

    /// - Parameter newPaths: for each renamed file: its path in the archive and its new one.
    public init(newPaths: [[UInt8]: [UInt8]]) { self.newPaths = newPaths }

    var isEmpty: Bool { newPaths.isEmpty }

    /// Whether only skipped records name the file: then their existing records do not need a second version of it.
    public func isNamedBySkippedRecordsOnly(_ path: [UInt8]) -> Bool { skipped.contains(path) && !wanted.contains(path) }

    func note(_ path: [UInt8], isSkipped: Bool) {
        if isSkipped { skipped.insert(path) } else { wanted.insert(path) }
    }

    /// - Parameter value: a path relative to the media folder, or a path of another machine that ends with one.
    /// - Returns: the archive path of the file that it names, and the value with the new name; `nil` when it does not name a renamed file.
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

    /// The part of a value that identifies a file: the relative path, or, for a path of a device, its last component.
    static func identifyingPart(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isForeign = value.first == slash || value.firstRange(of: Array("://".utf8)) != nil
        guard isForeign, let last = value.lastIndex(of: slash) else { return value }
        return UnsafeRawBufferPointer(rebasing: value[(last + 1)...])
    }
}
