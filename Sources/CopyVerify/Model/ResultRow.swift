import BackupCore
import Formats
import SystemIO

/// How the copy of one file to one destination ended.
public enum RowStatus: String, Sendable, CaseIterable {
    /// Copied, and read back as it was read from the source.
    case verified
    /// Copied; only its size was looked at.
    case copied
    /// The destination had the same bytes under this name already.
    case present
    /// What was read back differs from the source.
    case checksumMismatch
    case fileAccessDenied
    case fileNotFound
    case insufficientStorage
    case operationCancelled
    /// The source changed each time while it was read.
    case sourceChanged
    /// Another file has the name.
    case conflict
    /// Copied as it is, and it is not what a list of checksums says that came with the source.
    case sourceMismatch
    /// Any other error.
    case failed

    /// Whether the destination has the file.
    public var isSuccess: Bool { self == .verified || self == .copied || self == .present }

    init(_ error: BackupError) {
        self =
            switch error.code {
            case .damagedContent: .checksumMismatch
            case .stale: .sourceChanged
            case .conflict, .alreadyExists, .notADirectory, .isADirectory: .conflict
            case .accessDenied, .notPermitted, .readOnly: .fileAccessDenied
            case .notFound: .fileNotFound
            case .noSpace: .insufficientStorage
            case .interrupted: .operationCancelled
            default: .failed
            }
    }
}

/// One line of `results.jsonl`: a file or link of the source, and a destination.
struct ResultRow: Sendable {
    /// In the source.
    var path: [UInt8]
    var destination: String
    var size: UInt64
    var modificationTime: Timestamp
    var status: RowStatus
    var digests = FileDigests()
    var readBack: UncachedFile.Method?
    var isLink = false
    /// When the digests were computed.
    var hashedAt: Timestamp?
    /// Its path in the destination, where that differs.
    var target: [UInt8]?
    /// The copy's inode and time: whether it is still the same file.
    var targetInode: UInt64?
    var targetTime: Timestamp?
    var error: BackupError?
    /// Whether the destination had failed before this file: the error is that of the destination.
    var isDropped = false

    /// - Parameter recordedAt: when it has become certain.
    func json(recordedAt: Timestamp) -> OrderedJSON {
        var members: [OrderedJSON.Member] = []
        members += Self.path("path", path)
        members += [
            .init("destination", destination), .init("size", size), .init("mtime", modificationTime),
            .init("status", status.rawValue), .init("sha256", digests.sha256?.hexadecimal),
            .init("md5", digests.md5?.hexadecimal), .init("sha1", digests.sha1?.hexadecimal),
            .init("read_back", readBack?.rawValue), .init("recorded_at", recordedAt),
        ]
        if isLink { members.append(.init("link", true)) }
        for algorithm in [HashAlgorithm.xxh128, .c4, .xxh64, .xxh3] {
            if let text = digests.text(algorithm) { members.append(.init(algorithm.rawValue, text)) }
        }
        if let hashedAt { members.append(.init("hashed_at", hashedAt)) }
        if let target { members += Self.path("target", target) }
        if let targetInode { members.append(.init("target_inode", targetInode)) }
        if let targetTime { members.append(.init("target_mtime", targetTime)) }
        if let error {
            members += [.init("error", error.code.rawValue), .init("message", error.message)]
            if isDropped { members.append(.init("destination_failed", true)) }
        }
        return .object(members)
    }

    /// A path that is not UTF-8 has its bytes besides.
    static func path(_ name: String, _ bytes: [UInt8]) -> [OrderedJSON.Member] {
        if let text = String(validating: bytes, as: UTF8.self) { return [.init(name, text)] }
        return [
            .init(name, String(decoding: bytes, as: UTF8.self)),
            .init("\(name)_base64", bytes.withUnsafeBytes { Base64.encode($0) }),
        ]
    }
}

/// What a later run needs of a row.
struct RecordedRow: Sendable {
    let path: [UInt8]
    let destination: String
    let size: UInt64
    let modificationTime: Timestamp
    let status: RowStatus
    let target: [UInt8]
    let targetInode: UInt64?
    let targetTime: Timestamp?
    /// Of a row that failed.
    let message: String?
    let isDropped: Bool
    /// Whether it is a symbolic link, whose target was compared.
    let isLink: Bool
    /// How the copy was read back; `nil` for a link, and for what was not read.
    let readBack: UncachedFile.Method?
    /// When the row became certain.
    let recordedAt: Timestamp?
    let digests: FileDigests
    let hashedAt: Timestamp?

    /// - Returns: `nil` for a line that is torn or was not written by this program.
    init?(_ line: some Collection<UInt8>) {
        let members = JSONMembers(line)
        guard members.isFlat, let path = Self.path("path", members), let destination = members.text("destination"),
            let size: UInt64 = members.number("size"), let time = members.time("mtime"),
            let status: RowStatus = members.word("status")
        else { return nil }
        self.path = path
        self.destination = destination
        self.size = size
        modificationTime = time
        self.status = status
        target = Self.path("target", members) ?? path
        targetInode = members.number("target_inode")
        targetTime = members.time("target_mtime")
        message = members.text("message")
        isDropped = members.flag("destination_failed")
        isLink = members.flag("link")
        readBack = members.word("read_back")
        recordedAt = members.time("recorded_at")
        digests = FileDigests(members)
        hashedAt = members.time("hashed_at")
    }

    static func path(_ name: String, _ members: JSONMembers) -> [UInt8]? {
        if let encoded = members.text("\(name)_base64") { return Base64.decode(Array(encoded.utf8)) }
        return members.text(name).map { Array($0.utf8) }
    }
}
