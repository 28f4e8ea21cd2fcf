import SystemIO

/// Buffers for replies, kept for the next request: a fresh one of this size would cost 256 page faults each time.
final class BufferPool: Sendable {
    /// A buffer on loan; returned to the pool when its owner releases it.
    struct Loan: ~Copyable {
        let bytes: UnsafeMutableRawBufferPointer
        private let pool: BufferPool

        fileprivate init(_ bytes: UnsafeMutableRawBufferPointer, pool: BufferPool) {
            self.bytes = bytes
            self.pool = pool
        }

        deinit { pool.giveBack(bytes) }
    }

    /// Raw memory without an owner while it is in the pool, and owned by one loan otherwise; so it may change threads.
    private struct Idle: @unchecked Sendable {
        var buffers: [UnsafeMutableRawBufferPointer] = []
    }

    private let bufferSizeBytes: Int
    private let idle = Monitor(Idle())

    init(bufferSizeBytes: Int) { self.bufferSizeBytes = bufferSizeBytes }

    deinit { idle.withLock { idle in idle.buffers.forEach { $0.deallocate() } } }

    /// A buffer of the pool's size, with arbitrary contents from the last request. There are never more buffers than requests served concurrently, which the
    /// number of threads limits.
    func lend() -> Loan {
        let buffer = idle.withLock { $0.buffers.popLast() } ?? .allocate(byteCount: bufferSizeBytes, alignment: 4096)
        return Loan(buffer, pool: self)
    }

    private func giveBack(_ buffer: UnsafeMutableRawBufferPointer) { idle.withLock { $0.buffers.append(buffer) } }
}
