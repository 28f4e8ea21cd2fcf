import BackupCore
import Glibc

/// The systemd journal, by its native protocol: a datagram of fields (systemd.io/JOURNAL_NATIVE_PROTOCOL) to a socket at a fixed path.
public struct Journal: Sendable {
    private static let standardPath = "/run/systemd/journal/socket"

    /// One field of an entry.
    public struct Field: Sendable, Equatable {
        /// Upper-case letters, digits and underscores.
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    private let path: String

    public init() { path = Self.variable("BACKUPFS_JOURNAL_SOCKET") ?? Self.standardPath }

    /// Never blocks: an entry that does not fit into the journal's queue is dropped.
    /// - Throws: also when there is no journal.
    public func write(_ fields: [Field]) throws(BackupError) {
        guard let socket = DatagramSocket(path) else {
            throw BackupError(.notSupported, "this cannot be the journal's socket", path: path)
        }
        try socket.send(Self.encode(fields), action: "write to the journal", waits: false)
    }

    /// `NAME=value` on a line; a multi-line value follows its length.
    static func encode(_ fields: [Field]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            let value = Array(field.value.utf8)
            bytes += field.name.utf8
            if value.contains(UInt8(ascii: "\n")) {
                bytes.append(UInt8(ascii: "\n"))
                bytes += withUnsafeBytes(of: UInt64(value.count).littleEndian, Array.init)
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value + [UInt8(ascii: "\n")]
        }
        return bytes
    }

    /// Whether systemd has connected standard error to the journal (`$JOURNAL_STREAM`, systemd.exec(5)), so that this runs as a service. The variable alone
    /// does not prove it, since programs that a service starts inherit it.
    public static var receivesStandardError: Bool {
        guard let text = variable("JOURNAL_STREAM") else { return false }
        var value = stat()
        guard fstat(STDERR_FILENO, &value) == 0 else { return false }
        return text == "\(value.st_dev):\(value.st_ino)"
    }

    private static func variable(_ name: String) -> String? {
        guard let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
        return text
    }
}
