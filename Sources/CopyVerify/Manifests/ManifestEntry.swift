import BackupCore

/// A file in a manifest.
public struct ManifestEntry: Sendable, Equatable {
    /// Below the manifest's folder: components joined by one slash, none of them `.` or `..`.
    public let path: [UInt8]
    /// `nil` where the manifest does not say it.
    public let sizeBytes: UInt64?
    /// The checksums that the manifest has of it.
    public let digests: [ChecksumAlgorithm: [UInt8]]

    public init(path: [UInt8], sizeBytes: UInt64? = nil, digests: [ChecksumAlgorithm: [UInt8]]) {
        self.path = path
        self.sizeBytes = sizeBytes
        self.digests = digests
    }
}

/// Reads the files in a manifest, one after the other.
public protocol ManifestReader {
    /// - Returns: `nil` after the last one.
    /// - Throws: `invalidContent` for a line that is none of a manifest, or a path that leaves the folder.
    mutating func next() throws(BackupError) -> ManifestEntry?
}

/// The paths in manifests.
enum ManifestPath {
    /// A path without `.` components and further slashes.
    /// - Throws: `invalidContent` for an absolute path, one with `..` or a NUL, and an empty one: a manifest of another person
    ///   must not lead out of the folder.
    static func checked(_ path: some Collection<UInt8>) throws(BackupError) -> [UInt8] {
        let bytes = Array(path)
        let names = BytePath.components(of: bytes).filter { $0.bytes != [UInt8(ascii: ".")] }
        guard bytes.first != UInt8(ascii: "/"), bytes.last != UInt8(ascii: "/"), !bytes.contains(0), !names.isEmpty,
            !names.contains(FileName(".."))
        else {
            throw BackupError(.invalidContent, "“\(MessageText.name(bytes))” is no path of a file below the manifest's folder")
        }
        return BytePath.joined(names)
    }
}
