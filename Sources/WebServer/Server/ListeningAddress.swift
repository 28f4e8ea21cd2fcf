import BackupCore
import Glibc
import SystemIO

/// `127.0.0.1:8080` or `[::1]:8080`: a number, not a name.
public enum ListeningAddress: Sendable, Equatable {
    case version4(String, port: UInt16)
    case version6(String, port: UInt16)

    /// - Returns: `nil` for anything else.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        let host = text[..<colon]
        if host.first == "[", host.last == "]" {
            let address = String(host.dropFirst().dropLast())
            var number = in6_addr()
            guard inet_pton(AF_INET6, address, &number) == 1 else { return nil }
            self = .version6(address, port: port)
        } else {
            var number = in_addr()
            guard inet_pton(AF_INET, String(host), &number) == 1 else { return nil }
            self = .version4(String(host), port: port)
        }
    }

    /// As it was given.
    private var text: String {
        switch self {
        case .version4(let host, let port): "\(host):\(port)"
        case .version6(let host, let port): "[\(host)]:\(port)"
        }
    }

    /// A socket that listens there.
    func listen() throws(BackupError) -> Int32 {
        let family = if case .version6 = self { AF_INET6 } else { AF_INET }
        let number = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemCall.error(errno, action: "make a socket", path: text) }
        var isOn: Int32 = 1
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let bound: Int32
        switch self {
        case .version4(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            inet_pton(AF_INET, host, &address.sin_addr)
            bound = Self.bind(number, &address)
        case .version6(let host, let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            inet_pton(AF_INET6, host, &address.sin6_addr)
            bound = Self.bind(number, &address)
        }
        guard bound == 0, Glibc.listen(number, 128) == 0 else {
            let failure = errno
            close(number)
            throw SystemCall.error(failure, action: "listen", path: text)
        }
        return number
    }

    /// The kinds of addresses begin alike, and bind(2) is given the size of this one.
    private static func bind<Address>(_ number: Int32, _ address: inout Address) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(number, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// The same with the port that a listening socket has.
    func text(of number: Int32) throws(BackupError) -> String {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        // The port is in the same place in both kinds.
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &size) }
        }
        guard result == 0 else { throw SystemCall.error(errno, action: "read the port", path: text) }
        let port = UInt16(bigEndian: address.sin6_port)
        switch self {
        case .version4(let host, _): return "\(host):\(port)"
        case .version6(let host, _): return "[\(host)]:\(port)"
        }
    }
}
