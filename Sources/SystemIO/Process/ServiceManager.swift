import BackupCore
import Glibc

/// Whoever started this program as a service and waits to be told how it is: systemd, by the protocol of sd_notify(3), a datagram to the
/// socket that `$NOTIFY_SOCKET` names.
public struct ServiceManager: Sendable {
    private static let environmentVariable = "NOTIFY_SOCKET"

    private let address: sockaddr_un
    private let addressLength: socklen_t
    /// What the variable said; for messages.
    private let name: String

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
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        // A path's end is a zero byte; an abstract name begins with one, and ends where the address does.
        let isAbstract = socket.hasPrefix("@")
        let bytes = isAbstract ? [0] + Array(socket.utf8.dropFirst()) : Array(socket.utf8) + [0]
        guard isAbstract || socket.hasPrefix("/"), (2...capacity).contains(bytes.count) else {
            throw BackupError(
                .notSupported, "$\(Self.environmentVariable) names no socket that can be written to", path: socket,
                remedy: "It is set by systemd for services of Type=notify. Unset it where no service is started.")
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        addressLength = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + bytes.count)
        name = socket
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
        let number = try SystemCall.check("make a socket", name) {
            socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        let descriptor = OwnedDescriptor(owning: number, path: name)
        let bytes = Array(message.utf8)
        try SystemCall.check("tell the service manager", name) {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor.rawValue, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, addressLength)
                }
            }
        }
    }
}
