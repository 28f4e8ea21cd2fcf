import BackupCore
import SystemIO

/// What a list of checksums says of a file.
public struct ManifestEntry: Sendable {
    /// Below the folder that the list is about; safe to join to it.
    public let path: [UInt8]
    /// In bytes; `nil` where the list does not say.
    public let size: UInt64?
    /// Those whose algorithm this program has.
    public let digests: FileDigests

    public init(path: [UInt8], size: UInt64?, digests: FileDigests) {
        self.path = path
        self.size = size
        self.digests = digests
    }

    /// A path of a list as the path of a file in the folder, without `.` components and further slashes.
    /// - Throws: `invalidContent` for one that leads out of the folder.
    public static func safePath(_ path: some Collection<UInt8>, in list: String) throws(BackupError) -> [UInt8] {
        let bytes = Array(path)
        let names = BytePath.components(of: bytes).filter { $0.bytes != [UInt8(ascii: ".")] }
        guard bytes.first != UInt8(ascii: "/"), bytes.last != UInt8(ascii: "/"), !names.isEmpty,
            names.allSatisfy(\.isSafeComponent)
        else {
            throw invalid("it names a file outside of its folder: \(MessageText.name(path))", list)
        }
        return BytePath.joined(names)
    }

    static func invalid(_ message: Message, _ list: String) -> BackupError {
        BackupError(.invalidContent, message, path: list, remedy: remedy)
    }

    static let remedy: Message = "Repair or remove this list of checksums, or copy with --verify-source off."
}
