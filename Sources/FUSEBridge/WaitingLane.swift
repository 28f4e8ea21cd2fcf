import Glibc
import SystemIO

/// Keeps requests that may wait for something else (for the app's database, for a disk, for checksums) from taking up all threads. Up to a limit they
/// are served like any other; the rest stand in a queue, without a thread, until one of those has been answered.
final class WaitingLane: Sendable {
    private struct State {
        var servedCount = 0
        var queue: [[UInt8]] = []
    }

    private let limit: Int
    private let state = Monitor(State())

    init(limit: Int) { self.limit = limit }

    /// - Returns: whether the request is to be served now; `leave` must follow. Otherwise it has been put into the queue.
    func enter(_ request: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            if state.servedCount < limit {
                state.servedCount += 1
                return true
            }
            state.queue.append(Array(request))
            return false
        }
    }

    /// - Parameter isEnding: then what stands in the queue stays unanswered: the kernel ends it with the mount.
    /// - Returns: the request to be served next in the place of the one that has been answered; `leave` must follow again.
    func leave(isEnding: Bool) -> [UInt8]? {
        state.withLock { state in
            if isEnding { state.queue = [] }
            if state.queue.isEmpty {
                state.servedCount -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }
}

/// The part of a request that all have in common: `struct fuse_in_header` of <linux/fuse.h>.
struct RequestHeader {
    static let sizeBytes = 40
    private static let opcodeOffset = 4
    private static let nodeOffset = 16

    private let opcode: UInt32
    let node: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        opcode = bytes.loadUnaligned(fromByteOffset: Self.opcodeOffset, as: UInt32.self)
        node = bytes.loadUnaligned(fromByteOffset: Self.nodeOffset, as: UInt64.self)
    }

    /// Whether it asks for what a node is or holds. Others (forgetting, closing, interrupting) never wait, and writing and making are few.
    var looks: Bool {
        switch opcode {
        // FUSE_LOOKUP, GETATTR, READLINK, OPEN, READ, OPENDIR, READDIR, READDIRPLUS, COPY_FILE_RANGE
        case 1, 3, 5, 14, 15, 27, 28, 44, 47: true
        default: false
        }
    }

    /// Whether it asks for an extended attribute, which may be a checksum of all that the node holds.
    var asksForAttribute: Bool {
        // FUSE_GETXATTR
        opcode == 22
    }
}
