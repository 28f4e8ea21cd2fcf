import BackupCore
import SystemIO

/// Writes `SHA256SUMS`, which `sha256sum -c` reads.
final class SumsWriter: ManifestSink {
    static let name: FileName = "SHA256SUMS"

    private let output: BufferedOutput

    private init(_ output: BufferedOutput) { self.output = output }

    /// - Returns: the name that the list got: another one has the usual name when it has other content.
    static func write(_ root: DirectoryHandle, _ rows: CopiedRows, token: String) throws(BackupError) -> FileName {
        try ManifestDraft.write(name, in: root, token: token, .nextName) { (output) throws(BackupError) in
            try ManifestWalk.run(root, rows, SumsWriter(output))
        }
    }

    func add(_ file: CopiedFile) throws(BackupError) {
        guard let digest = file.digests.sha256 else { throw file.lacksDigest }
        try output.add(Self.line(digest, file.path))
    }

    /// With the escapes of coreutils.
    static func line(_ digest: SHA256Digest, _ path: [UInt8]) -> [UInt8] {
        var name: [UInt8] = []
        for byte in path {
            switch byte {
            case UInt8(ascii: "\\"): name += "\\\\".utf8
            case 10: name += "\\n".utf8
            case 13: name += "\\r".utf8
            default: name.append(byte)
            }
        }
        let start = name.count > path.count ? [UInt8(ascii: "\\")] : []
        return start + Hexadecimal.encodeToUTF8(digest.bytes) + "  ".utf8 + name + [10]
    }

    func enter(_ folder: SourceFolder) {}
    func leave(_ folder: SourceFolder) {}
    func addLink(_ path: [UInt8]) {}
    func addOther(_ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle, _ status: FileStatus) {}
    func addUnreadable(_ path: [UInt8]) {}
}
