import SystemIO

/// Buffers for replies, kept for the next request: a fresh one of this size would cost 256 page faults each time.
final class BufferPool: Sendable {
    /// A buffer that is lent out; given back when its owner lets go of it.
    struct Loan: ~Copyable {
        let bytes: UnsafeMutableRawBufferPointer
        private let pool: BufferPool

        fileprivate init(_ bytes: UnsafeMutableRawBufferPointer, pool: BufferPool) {
            self.bytes = bytes
            self.pool = pool
        }

        deinit { pool.giveBack(bytes) }
    }

    /// Raw memory that belongs to nobody while it lies in the pool, and to one loan otherwise; so it may change threads.
    private struct Idle: @unchecked Sendable {
        var buffers: [UnsafeMutableRawBufferPointer] = []
    }

    private let bufferSizeBytes: Int
    private let idle = Monitor(Idle())

    init(bufferSizeBytes: Int) { self.bufferSizeBytes = bufferSizeBytes }

    deinit { idle.withLock { idle in idle.buffers.forEach { $0.deallocate() } } }

    /// A buffer of the pool's size, with whatever the last request left in it. There are never more buffers than requests that
    /// were served at the same time, and the number of threads bounds that.
    func lend() -> Loan {
        let buffer = idle.withLock { $0.buffers.popLast() } ?? .allocate(byteCount: bufferSizeBytes, alignment: 4096)
        return Loan(buffer, pool: self)
    }

    private func giveBack(_ buffer: UnsafeMutableRawBufferPointer) { idle.withLock { $0.buffers.append(buffer) } }
}
