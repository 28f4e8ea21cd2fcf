import BackupCore
import Glibc

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
