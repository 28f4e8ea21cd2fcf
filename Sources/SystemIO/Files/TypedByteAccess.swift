/// The standard library's byte accessors rethrow untyped errors; these keep typed ones.
extension [UInt8] {
    /// - Parameter count: only the first `count` bytes.
    public func withUnsafeBytesThrowing<Result, Failure: Error>(
        count: Int? = nil, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer.prefix(count ?? buffer.count))))
        }
    }

    public mutating func withUnsafeMutableBytesThrowing<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
