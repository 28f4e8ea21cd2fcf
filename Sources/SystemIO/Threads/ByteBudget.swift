/// Bounds the bytes that work in progress holds. Bytes are taken by `WorkGroup.share`.
public final class ByteBudget: Sendable {
    /// Bytes that are in use as long as something refers to them.
    public final class Share: Sendable {
        /// What was taken.
        public let bytes: [UInt8]
        private let budget: ByteBudget

        fileprivate init(_ bytes: [UInt8], _ budget: ByteBudget) {
            self.bytes = bytes
            self.budget = budget
        }

        deinit { budget.giveBack(bytes.count) }
    }

    private struct State {
        var usedCount = 0
        var peakCount = 0
    }

    private let limitBytes: Int
    private let state = Monitor(State())

    /// - Parameter limitBytes: of the bytes in use. What is larger is taken alone.
    public init(limitBytes: Int) { self.limitBytes = limitBytes }

    /// The largest number of bytes that were in use so far.
    public var peakByteCount: Int { state.withLock { $0.peakCount } }

    /// - Returns: `nil` while there is no room.
    func takeFree(_ bytes: [UInt8]) -> Share? {
        let isTaken = state.withLock { state in
            guard hasRoom(for: bytes.count, state) else { return false }
            Self.add(bytes.count, to: &state)
            return true
        }
        return isTaken ? Share(bytes, self) : nil
    }

    /// Takes bytes also where there is no room.
    func take(_ bytes: [UInt8]) -> Share {
        state.withLock { Self.add(bytes.count, to: &$0) }
        return Share(bytes, self)
    }

    func waitForRoom(for count: Int, forNanoseconds limit: UInt64) {
        _ = state.wait(until: { hasRoom(for: count, $0) }, forNanoseconds: limit)
    }

    private func hasRoom(for count: Int, _ state: State) -> Bool {
        state.usedCount == 0 || state.usedCount + count <= limitBytes
    }

    private static func add(_ count: Int, to state: inout State) {
        state.usedCount += count
        state.peakCount = max(state.peakCount, state.usedCount)
    }

    private func giveBack(_ count: Int) { state.changeWakingAll { $0.usedCount -= count } }
}
