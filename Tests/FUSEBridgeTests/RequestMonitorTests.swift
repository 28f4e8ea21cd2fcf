import BackupCore
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import FUSEBridge

/// Counts and traces of requests.
struct RequestMonitorTests {
    /// The beginning of a request as the kernel sends it: its header, and a handle, an offset and a size.
    private static func request(_ opcode: UInt32, node: UInt64, offset: UInt64, size: UInt32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 80)
        bytes.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: opcode, toByteOffset: 4, as: UInt32.self)
            bytes.storeBytes(of: node, toByteOffset: 16, as: UInt64.self)
            bytes.storeBytes(of: offset, toByteOffset: 48, as: UInt64.self)
            bytes.storeBytes(of: size, toByteOffset: 56, as: UInt32.self)
        }
        return bytes
    }

    private static func serve(_ monitor: RequestMonitor, _ request: [UInt8], error: Int32 = 0) {
        request.withUnsafeBytes { bytes in
            let served = monitor.begin(bytes)
            if error != 0 { LastReply.error = error }
            monitor.end(served)
        }
    }

    @Test func `requests are counted by operation, failures by errno`() {
        let monitor = RequestMonitor { _ in Issue.record("nothing is traced") }
        for _ in 0..<3 { Self.serve(monitor, Self.request(15, node: 7, offset: 0, size: 10)) }
        Self.serve(monitor, Self.request(1, node: 1, offset: 0, size: 0), error: ENOENT)
        // Both forms of a listing, and operations that this program does not know.
        for opcode: UInt32 in [28, 44, 50, 4_096] { Self.serve(monitor, Self.request(opcode, node: 1, offset: 0, size: 0)) }
        monitor.noteFailure(EINTR)
        monitor.noteFailure(9_999)
        #expect(monitor.counts.served == ["read": 3, "lookup": 1, "readdir": 2, "request": 2])
        #expect(monitor.counts.failed == ["ENOENT": 1, "EINTR": 1, "errno 159": 1])
    }

    @Test func `a trace has the operation, the file, the range, the result and the time`() throws {
        let traced = Mutex<[ServedRequest]>([])
        let monitor = RequestMonitor { request in traced.withLock { $0.append(request) } }
        Self.serve(monitor, Self.request(15, node: 7, offset: 4_096, size: 512))
        monitor.setTracing(true)
        Self.serve(monitor, Self.request(15, node: 7, offset: 4_096, size: 512), error: EIO)
        Self.serve(monitor, Self.request(3, node: 8, offset: 1, size: 1))
        monitor.setTracing(false)
        Self.serve(monitor, Self.request(3, node: 9, offset: 1, size: 1))
        let requests = traced.withLock { $0 }
        #expect(requests.map(\.operation) == ["read", "getattr"])
        let read = try #require(requests.first)
        #expect(read.inode == 7 && read.range?.offset == 4_096 && read.range?.length == 512 && read.error == "EIO")
        let look = try #require(requests.last)
        #expect(look.inode == 8 && look.range == nil && look.error == nil)
    }

    @Test func `a request that is too short for a range has none`() {
        let bytes = Self.request(15, node: 7, offset: 0, size: 0)[..<50]
        Array(bytes).withUnsafeBytes { #expect(RequestHeader($0).range($0) == nil) }
    }

    @Test(.disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
    func `the results are those that programs get`() throws {
        let traced = Mutex<[ServedRequest]>([])
        let monitor = RequestMonitor { request in traced.withLock { $0.append(request) } }
        monitor.setTracing(true)
        let tree = MemoryTree()
        tree.add("hello.txt", .file(Array("Hello\n".utf8)))
        let mount = try MountedTree(tree, requests: monitor)
        #expect(try mount.output("cat $M/hello.txt") == "Hello\n")
        #expect(try mount.sh("cat $M/none").exitCode != 0)
        try mount.end()
        let requests = traced.withLock { $0 }
        #expect(requests.contains { $0.operation == "read" && $0.error == nil && $0.range?.offset == 0 })
        #expect(requests.contains { $0.operation == "lookup" && $0.error == "ENOENT" })
        #expect((monitor.counts.served["read"] ?? 0) >= 1 && (monitor.counts.failed["ENOENT"] ?? 0) >= 1)
    }
}
