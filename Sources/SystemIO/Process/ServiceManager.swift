import BackupCore
import Glibc

/// Whoever started this program as a service and waits to be told how it is: systemd, by the protocol of sd_notify(3), a datagram to the
/// socket that `$NOTIFY_SOCKET` names.
public struct ServiceManager: Sendable {
    private static let environmentVariable = "NOTIFY_SOCKET"

    private let socket: DatagramSocket

    /// Takes the variable out of the environment: programs that are started from here are not the service, and must not speak for it.
    /// - Returns: `nil` when nobody waits, or when it was called before.
    /// - Throws: `notSupported` when the variable names no socket of this machine's file system or abstract names.
    public static func takeFromEnvironment() throws(BackupError) -> ServiceManager? {
        guard let text = getenv(environmentVariable).map({ String(cString: $0) }), !text.isEmpty else { return nil }
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

    /// What the service does now.
    public enum State: Sendable, Equatable {
        /// It does what it is there for.
        case ready(status: String)
        /// It has begun to end.
        case stopping
    }

    /// - Throws: what socket(2) and sendto(2) say; the service manager knows nothing then.
    public func tell(_ state: State) throws(BackupError) {
        let message =
            switch state {
            // A status is one line.
            case .ready(let status): "READY=1\nSTATUS=\(MessageText.shortened(status, limit: 1000))"
            case .stopping: "STOPPING=1"
            }
        try socket.send(Array(message.utf8), action: "tell the service manager", waits: true)
    }
}
