import BackupCore
import Glibc

/// The service manager that started this program and waits for its state: systemd, by the protocol of sd_notify(3), a datagram to the socket in
/// `$NOTIFY_SOCKET`.
public struct ServiceManager: Sendable {
    private static let environmentVariable = "NOTIFY_SOCKET"

    private let socket: DatagramSocket

    /// Removes the variable from the environment: child programs are not the service, and must not report for it.
    /// - Returns: `nil` when no manager waits, or when it was called before.
    /// - Throws: `notSupported` when the variable names neither a path nor an abstract name of a socket.
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

    /// The current state of the service.
    public enum State: Sendable, Equatable {
        /// It serves requests.
        case ready(status: String)
        /// It has begun to shut down.
        case stopping
    }

    /// - Throws: errors of socket(2) and sendto(2); the service manager then knows nothing.
    public func tell(_ state: State) throws(BackupError) {
        let message =
            switch state {
            // A status must be one line.
            case .ready(let status): "READY=1\nSTATUS=\(MessageText.shortened(status, limit: 1000))"
            case .stopping: "STOPPING=1"
            }
        try socket.send(Array(message.utf8), action: "notify the service manager", waits: true)
    }
}
