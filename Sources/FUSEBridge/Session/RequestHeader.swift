import Glibc
import SystemIO
import VirtualTree

/// The common part of all requests, `struct fuse_in_header` of <linux/fuse.h>, and those parts of the rest that are needed before
/// libfuse parses the request.
struct RequestHeader {
    static let sizeBytes = 40
    private static let opcodeOffset = 4
    private static let numberOffset = 8
    private static let nodeOffset = 16
    private static let processOffset = 32

    let opcode: UInt32
    /// The kernel's number for the request.
    let number: UInt64
    let node: UInt64
    /// The calling thread, or 0 when it is in a process namespace without a number here.
    let process: Int32

    init(_ bytes: UnsafeRawBufferPointer) {
        opcode = bytes.loadUnaligned(fromByteOffset: Self.opcodeOffset, as: UInt32.self)
        number = bytes.loadUnaligned(fromByteOffset: Self.numberOffset, as: UInt64.self)
        node = bytes.loadUnaligned(fromByteOffset: Self.nodeOffset, as: UInt64.self)
        process = bytes.loadUnaligned(fromByteOffset: Self.processOffset, as: Int32.self)
    }

    /// Its subject; `nil` for requests that never wait (forgetting, interrupting).
    func aim(_ bytes: UnsafeRawBufferPointer) -> RequestAim? {
        switch opcode {
        // GETATTR
        case 3: return .attributes
        // FUSE_LOOKUP, READLINK, OPEN, READ, OPENDIR, READDIR, READDIRPLUS, COPY_FILE_RANGE
        case 1, 5, 14, 15, 27, 28, 44, 47: return .content
        // LISTXATTR
        case 23: return .attributeNames
        // GETXATTR: no file here has attributes outside the `user.` namespace.
        case 22: return asksForAttribute(bytes, exceptFor: "") ? .extendedAttribute : nil
        // UNLINK, RMDIR, RENAME, SETXATTR, REMOVEXATTR, RENAME2
        case 10, 11, 12, 21, 24, 45: return .change
        // SYMLINK, MKNOD, MKDIR
        case 6, 8, 9: return .making
        // SETATTR, WRITE, FSYNC, CREATE
        case 4, 16, 20, 35: return .writing
        // RELEASE, FLUSH
        case 18, 25: return .closing
        default: return nil
        }
    }

    /// Whether it is the last close of a file (RELEASE): it is always served, since bytes may be lost otherwise.
    var isLastClose: Bool { opcode == 18 }

    /// Whether it is a close(2) of a file (FLUSH, RELEASE). It is served also when its program has received a signal: what it has
    /// written is to be judged, and the program is to get the result.
    var isClose: Bool { isLastClose || opcode == 25 }

    /// Whether it opens a folder to list it (OPENDIR).
    var opensFolder: Bool { opcode == 27 }

    /// Its name in messages.
    var name: StaticString { Self.name(opcode) }

    /// The name of an operation in messages, in the log and in metrics.
    static func name(_ opcode: UInt32) -> StaticString {
        switch opcode {
        case 1: "lookup"
        case 2, 42: "forget"
        case 3: "getattr"
        case 4: "setattr"
        case 5: "readlink"
        case 6: "symlink"
        case 8: "mknod"
        case 9: "mkdir"
        case 10: "unlink"
        case 11: "rmdir"
        case 12, 45: "rename"
        case 13: "link"
        case 14: "open"
        case 15: "read"
        case 16: "write"
        case 17: "statfs"
        case 18: "release"
        case 20: "fsync"
        case 21: "setxattr"
        case 22: "getxattr"
        case 23: "listxattr"
        case 24: "removexattr"
        case 25: "flush"
        case 26: "init"
        case 27: "opendir"
        case 28, 44: "readdir"
        case 29: "releasedir"
        case 35: "create"
        case 36: "interrupt"
        case 47: "copy_file_range"
        default: "request"
        }
    }

    /// The bytes that it reads or writes (READ, WRITE, READDIR, READDIRPLUS; `struct fuse_read_in`).
    func range(_ bytes: UnsafeRawBufferPointer) -> (offset: UInt64, length: UInt64)? {
        guard [15, 16, 28, 44].contains(opcode), bytes.count >= Self.sizeBytes + 20 else { return nil }
        // The handle comes first.
        return (
            bytes.loadUnaligned(fromByteOffset: Self.sizeBytes + 8, as: UInt64.self),
            UInt64(bytes.loadUnaligned(fromByteOffset: Self.sizeBytes + 16, as: UInt32.self))
        )
    }

    /// The number of the request that it interrupts (FUSE_INTERRUPT), because the program that waits for it has received a
    /// signal.
    func interruptedNumber(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        guard opcode == 36, bytes.count >= Self.sizeBytes + 8 else { return nil }
        return bytes.loadUnaligned(fromByteOffset: Self.sizeBytes, as: UInt64.self)
    }

    /// What a request needs from a node that may not be ready for it.
    enum Look {
        /// The node's attributes, or a name in it.
        case attributes
        /// Its contents, or attributes other than the basic ones.
        case content
    }

    /// - Parameter exception: an extended attribute that is always available.
    /// - Returns: `nil` for requests that never wait.
    func look(_ bytes: UnsafeRawBufferPointer, exceptAttribute exception: StaticString) -> Look? {
        switch opcode {
        // LOOKUP, GETATTR
        case 1, 3: return .attributes
        // OPEN, OPENDIR
        case 14, 27: return .content
        // GETXATTR
        case 22: return asksForAttribute(bytes, exceptFor: exception) ? .content : nil
        default: return nil
        }
    }

    /// No file here has attributes outside the `user.` namespace.
    private func asksForAttribute(_ bytes: UnsafeRawBufferPointer, exceptFor exception: StaticString) -> Bool {
        // The size of the reply comes before the name.
        guard bytes.count > Self.sizeBytes + 8 else { return false }
        let name = bytes[(Self.sizeBytes + 8)...].prefix { $0 != 0 }
        return name.starts(with: "user.".utf8) && !exception.withUTF8Buffer { name.elementsEqual($0) }
    }
}

/// Accesses to folders of unfinished backups: they wait here, without a thread, until the backup has ended.
final class ParkedRequests: Sendable {
    private struct State {
        var requests: [[UInt8]] = []
        var isEnding = false
        var isServing = false
    }

    private let state = Monitor(State())

    /// - Parameter isPending: called again under the lock, while no request can be taken out.
    /// - Returns: whether the request waits here now.
    func park(_ request: UnsafeRawBufferPointer, if isPending: () -> Bool) -> Bool {
        // Usually there is nothing to wait for, and no lock is taken.
        guard isPending() else { return false }
        return state.withLock { state in
            guard !state.isEnding, isPending() else { return false }
            state.requests.append(Array(request))
            return true
        }
    }

    /// Removes a request that is not to be served any more.
    /// - Returns: whether it was here.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.requests.remove(number) } }

    /// Serves all waiting requests. Those whose folder is still pending are parked again.
    func serve(_ process: (UnsafeMutableRawBufferPointer) -> Void) {
        while true {
            var requests = state.changeWakingAll { state in
                state.isServing = !state.isEnding && !state.requests.isEmpty
                defer { state.requests = [] }
                return state.isServing ? state.requests : []
            }
            guard !requests.isEmpty else { return }
            for index in requests.indices { requests[index].withUnsafeMutableBytes { process($0) } }
        }
    }

    /// Stops serving: the kernel ends the waiting requests with the mount. Returns when none is being served.
    func end() {
        state.withLock { $0.isEnding = true }
        state.wait(until: { !$0.isServing }) { _ in }
    }
}

extension [[UInt8]] {
    /// Removes the requests that need not be served.
    /// - Returns: their headers.
    mutating func removeDispensable() -> [RequestHeader] {
        let headers = map { $0.withUnsafeBytes { RequestHeader($0) } }
        self = zip(headers, self).filter { $0.0.isLastClose }.map(\.1)
        return headers.filter { !$0.isLastClose }
    }

    /// Removes the request with this number, unless it closes a file.
    /// - Returns: whether it was removed.
    mutating func remove(_ number: UInt64) -> Bool {
        let index = firstIndex { request in
            let header = request.withUnsafeBytes { RequestHeader($0) }
            return header.number == number && !header.isClose
        }
        guard let index else { return false }
        remove(at: index)
        return true
    }
}
