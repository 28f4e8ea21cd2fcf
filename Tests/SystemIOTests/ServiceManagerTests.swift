import BackupCore
import Glibc
import TestSupport
import Testing

@testable import SystemIO

/// What a service manager is told, over sockets of both kinds.
struct ServiceManagerTests {
    /// A bound datagram socket, without any of the code under test.
    private struct Receiver: ~Copyable {
        let descriptor: Int32

        init(name: [UInt8]) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
            let result = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(result == 0)
        }

        func receive() -> String {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return count < 0 ? "nothing" : String(decoding: buffer[..<count], as: UTF8.self)
        }

        deinit { close(descriptor) }
    }

    @Test func `messages come over a socket with a path, and over an abstract one`() throws {
        let folder = try TemporaryFolder()
        let abstract = "backupfs-test-\(getpid())-\(RandomToken.make())"
        for (address, name) in [(folder("notify"), Array(folder("notify").utf8)), ("@\(abstract)", [0] + Array(abstract.utf8))] {
            let receiver = try Receiver(name: name)
            let manager = try ServiceManager(socket: address)
            try manager.send(.ready(status: "Serves a\nREADY=0 on b"))
            // One status, however many lines the path has.
            #expect(receiver.receive() == "READY=1\nSTATUS=Serves a\u{FFFD}READY=0 on b")
            try manager.send(.stopping)
            #expect(receiver.receive() == "STOPPING=1")
            #expect(receiver.receive() == "nothing")
        }
    }

    @Test func `addresses at the limit of their length`() throws {
        let abstract = "backupfs-\(RandomToken.make())"
        let longest = abstract + String(repeating: "x", count: 107 - abstract.utf8.count)
        let receiver = try Receiver(name: [0] + Array(longest.utf8))
        try ServiceManager(socket: "@\(longest)").send(.stopping)
        #expect(receiver.receive() == "STOPPING=1")
        #expect(errorCode { _ = try ServiceManager(socket: "@\(longest)x") } == .notSupported)
        #expect(errorCode { _ = try ServiceManager(socket: "/" + String(repeating: "x", count: 107)) } == .notSupported)
    }

    @Test(arguments: ["", "@", "notify", "vsock:2:1", "./notify"])
    func `what is no address of a socket`(address: String) {
        #expect(errorCode { _ = try ServiceManager(socket: address) } == .notSupported)
    }

    @Test func `no manager listens`() throws {
        let folder = try TemporaryFolder()
        let manager = try ServiceManager(socket: folder("nobody"))
        #expect(errorCode { try manager.send(.stopping) } == .notFound)
        _ = try Receiver(name: Array(folder("gone").utf8))
        #expect(errorCode { try ServiceManager(socket: folder("gone")).send(.stopping) } == .inputOutput)
    }
}
