import BackupCore
import Glibc

/// The systemd journal, by its native protocol: a datagram of fields (systemd.io/JOURNAL_NATIVE_PROTOCOL) to a socket at a fixed
/// path.
public struct Journal: Sendable {
    private static let standardPath = "/run/systemd/journal/socket"

    /// One field of an entry.
    public struct Field: Sendable, Equatable {
        /// Upper-case letters, digits and underscores.
        public let name: String
        /// Any text, also of several lines.
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    private let path: String

    public init() { path = Environment.text("BACKUPFS_JOURNAL_SOCKET") ?? Self.standardPath }

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

    /// Whether systemd has connected standard error to the journal (`$JOURNAL_STREAM`, systemd.exec(5)), so that this runs as a
    /// service. The variable alone does not prove it, since programs that a service starts inherit it.
    public static var receivesStandardError: Bool {
        guard let text = Environment.text("JOURNAL_STREAM") else { return false }
        var value = stat()
        guard fstat(STDERR_FILENO, &value) == 0 else { return false }
        return text == "\(value.st_dev):\(value.st_ino)"
    }
}

/// The service manager that started this program and waits for its state: systemd, by the protocol of sd_notify(3), a datagram to
/// the socket in `$NOTIFY_SOCKET`.
public struct ServiceManager: Sendable {
    private static let environmentVariable = "NOTIFY_SOCKET"

    private let socket: DatagramSocket

    /// Removes the variable from the environment: child programs are not the service, and must not report for it.
    /// - Returns: `nil` when no manager waits, or when it was called before.
    /// - Throws: `notSupported` when the variable names neither a path nor an abstract name of a socket.
    public static func takeFromEnvironment() throws(BackupError) -> ServiceManager? {
        guard let text = Environment.text(environmentVariable) else { return nil }
        unsetenv(environmentVariable)
        return try ServiceManager(socket: text)
    }

    /// - Parameter socket: a path, or `@` and an abstract name.
    init(socket: String) throws(BackupError) {
        guard let found = DatagramSocket(socket) else {
            throw BackupError(
                .notSupported, "$\(Self.environmentVariable) names no socket that can be written to", path: socket,
                remedy: "It is set by systemd for services of Type=notify. Unset it where no service is started.")
        }
        self.socket = found
    }

    /// The current state of the service.
    public enum State: Sendable, Equatable {
        /// It serves requests.
        case ready(status: String)
        /// It has begun to shut down.
        case stopping
    }

    /// - Throws: errors of socket(2) and sendto(2); the service manager then knows nothing.
    public func send(_ state: State) throws(BackupError) {
        let message =
            switch state {
            // A status must be one line.
            case .ready(let status): "READY=1\nSTATUS=\(MessageText.shortened(status, limit: 1000))"
            case .stopping: "STOPPING=1"
            }
        try socket.send(Array(message.utf8), action: "notify the service manager", waits: true)
    }
}

/// The socket of another program that receives single messages and does not answer.
struct DatagramSocket: Sendable {
    private let address: sockaddr_un
    private let addressLength: socklen_t
    let name: String

    /// - Parameter name: a path, or `@` and an abstract name
    /// - Returns: `nil` for an invalid socket name
    init?(_ name: String) {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        // A zero byte terminates a path; an abstract name begins with one, and ends where the address does.
        let isAbstract = name.hasPrefix("@")
        let bytes = isAbstract ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8) + [0]
        guard isAbstract || name.hasPrefix("/"), (2...capacity).contains(bytes.count) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        addressLength = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + bytes.count)
        self.name = name
    }

    /// - Parameters:
    ///   - action: the purpose, for a message.
    ///   - waits: whether to wait for space in a full queue.
    /// - Throws: errors of socket(2) and sendto(2).
    func send(_ bytes: [UInt8], action: Message, waits: Bool) throws(BackupError) {
        let number = try SystemCall.check("make a socket", name) {
            socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        let descriptor = OwnedDescriptor(owning: number, path: name)
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        try SystemCall.check(action, name) {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor.rawValue, bytes, bytes.count, flags, $0, addressLength)
                }
            }
        }
    }
}
