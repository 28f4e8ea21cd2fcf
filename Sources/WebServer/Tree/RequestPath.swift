import BackupCore
import SystemIO

/// The path of a request.
struct RequestPath: Equatable {
    let names: [FileName]
    /// Whether it ends with a slash, as addresses of folders do.
    let isOfFolder: Bool

    /// - Parameter text: the path as it was sent, with escapes.
    /// - Returns: `nil` for anything that could mean a place outside of the tree, and for incomplete escapes.
    init?(_ text: some StringProtocol) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var names: [FileName] = []
        for part in text.utf8.split(separator: UInt8(ascii: "/")) {
            guard let bytes = PercentEncoding.decodeBytes(part) else { return nil }
            let name = FileName(bytes: bytes)
            guard name.isSafeComponent else { return nil }
            names.append(name)
        }
        self.names = names
        isOfFolder = text.hasSuffix("/")
    }

    /// As an address.
    static func address(_ names: [FileName], isFolder: Bool) -> String {
        "/" + names.map { PercentEncoding.encode($0.bytes) }.joined(separator: "/") + (isFolder && !names.isEmpty ? "/" : "")
    }
}
