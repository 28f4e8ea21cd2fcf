import BackupCore

/// Collects output in one block of memory and forwards it when the block is full. For one thread.
final class OutputBuffer {
    private static let capacity = 128 << 10

    private let storage = UnsafeMutablePointer<UInt8>.allocate(capacity: OutputBuffer.capacity)
    private var count = 0
    private let receiver: (UnsafeRawBufferPointer) throws(BackupError) -> Void

    init(_ receiver: @escaping (UnsafeRawBufferPointer) throws(BackupError) -> Void) { self.receiver = receiver }

    deinit { storage.deallocate() }

    func flush() throws(BackupError) {
        guard count > 0 else { return }
        let full = UnsafeRawBufferPointer(start: storage, count: count)
        count = 0
        try receiver(full)
    }

    @inline(__always)
    func append(_ byte: UInt8) throws(BackupError) {
        if count == Self.capacity { try flush() }
        storage[count] = byte
        count += 1
    }

    @inline(__always)
    func append(_ bytes: UnsafePointer<UInt8>, count length: Int) throws(BackupError) {
        if length > Self.capacity - count { return try appendSlowly(bytes, count: length) }
        (storage + count).update(from: bytes, count: length)
        count += length
    }

    private func appendSlowly(_ bytes: UnsafePointer<UInt8>, count length: Int) throws(BackupError) {
        try flush()
        if length >= Self.capacity { return try receiver(UnsafeRawBufferPointer(start: bytes, count: length)) }
        storage.update(from: bytes, count: length)
        count = length
    }

    func append(_ bytes: [UInt8]) throws(BackupError) {
        var outcome: Result<Void, BackupError> = .success(())
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            outcome = Result { () throws(BackupError) in try append(base, count: buffer.count) }
        }
        try outcome.get()
    }

    func append(_ text: String) throws(BackupError) {
        var text = text
        var outcome: Result<Void, BackupError> = .success(())
        text.withUTF8 { buffer in
            guard let base = buffer.baseAddress else { return }
            outcome = Result { () throws(BackupError) in try append(base, count: buffer.count) }
        }
        try outcome.get()
    }

    @inline(__always)
    func append(_ text: StaticString) throws(BackupError) { try append(text.utf8Start, count: text.utf8CodeUnitCount) }

    /// Decimal digits.
    func append(_ number: Int64) throws(BackupError) {
        if Self.capacity - count < 20 { try flush() }
        var magnitude = number.magnitude
        if number < 0 {
            storage[count] = UInt8(ascii: "-")
            count += 1
        }
        var digits = 1
        var power: UInt64 = 10
        while digits < 20, magnitude >= power {
            digits += 1
            if digits == 20 { break }
            power *= 10
        }
        var index = count + digits
        count += digits
        repeat {
            index -= 1
            storage[index] = UInt8(48 + magnitude % 10)
            magnitude /= 10
        } while magnitude > 0
    }
}
