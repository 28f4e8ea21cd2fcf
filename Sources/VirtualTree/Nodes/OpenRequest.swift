import BackupCore
import Synchronization
import SystemIO

/// A file that a program writes a request into, which is made when the program closes it. Reading it is up to another object.
final class OpenRequest: OpenFile {
    let keepsCache = false
    let usesDirectIO = true
    private let path: String
    private let opener: Int32
    private let limitBytes: Int
    private let tooLong: BackupError
    private let submit: @Sendable ([UInt8]) throws(BackupError) -> Void
    private let noteWrite: @Sendable () -> Void
    private let text = Mutex<[UInt8]>([])

    /// - Parameters:
    ///   - path: for messages.
    ///   - opener: the process that has opened it; 0 when unknown.
    ///   - limitBytes: no request is longer.
    ///   - tooLong: the error for a longer one.
    ///   - noteWrite: called after each write.
    ///   - submit: makes the request; its error is the result of close(2).
    init(
        path: String, opener: Int32, limitBytes: Int, tooLong: BackupError, noteWrite: @escaping @Sendable () -> Void = {},
        submit: @escaping @Sendable ([UInt8]) throws(BackupError) -> Void
    ) {
        self.path = path
        self.opener = opener
        self.limitBytes = limitBytes
        self.tooLong = tooLong
        self.noteWrite = noteWrite
        self.submit = submit
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int { 0 }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try text.withLock { (text) throws(BackupError) in
            // A program that appends continues at the end that the file had.
            guard text.count + bytes.count <= limitBytes else { throw tooLong }
            text += bytes
        }
        noteWrite()
    }

    /// copy_file_range(2): programs write instead.
    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        throw BackupError(.notSupported, "a request is written, and not copied", path: path)
    }

    /// Each request is made once, however many descriptors are closed. A child that has inherited one, and ends, has not written
    /// all: only a close by the process that opened the file counts.
    func flush(process: Int32) throws(BackupError) {
        guard opener == 0 || process == 0 || process == opener else { return }
        try finish()
    }

    /// The last descriptor is closed, perhaps by a child that wrote for a process that is gone. No program gets an error then.
    func release() { try? finish() }

    private func finish() throws(BackupError) {
        let request = text.withLock { text in
            defer { text = [] }
            return text
        }
        guard !request.isEmpty else { return }
        try submit(request)
    }
}
