import BackupCore
import Glibc
import Synchronization
import SystemIO

/// In a program started in the background: the channel to the process that waits for it. Only the first report counts.
public final class ReadinessChannel: Sendable {
    /// Closed after the report: the waiting program waits for the end of the pipe.
    private struct Writer: ~Copyable, Sendable {
        var descriptor: OwnedDescriptor?
    }

    private let writer: Mutex<Writer>

    init(_ descriptor: consuming OwnedDescriptor) { writer = Mutex(Writer(descriptor: descriptor)) }

    /// Reports that the mount responds.
    /// - Throws: `interrupted` when the waiting process is gone: the program that requested the mount was stopped and no longer
    ///   wants it.
    public func reportReady() throws(BackupError) {
        guard send(.ready) else { throw BackupError(.interrupted, "the program that requested the mount has ended") }
    }

    /// Reports that the mount failed, and that this program is about to end.
    public func report(_ error: BackupError) { _ = send(.failed(error)) }

    private func send(_ report: ReadinessReport) -> Bool {
        writer.withLock { writer in
            guard let descriptor = writer.descriptor.take() else { return true }
            do throws(BackupError) {
                try descriptor.writeAll(report.encoded)
                return true
            } catch {
                return false
            }
        }
    }
}

/// The report of a background mount to the process that started it: that it responds, or why it failed.
enum ReadinessReport {
    case ready
    case failed(BackupError)

    private static let readyMark: UInt8 = 1
    private static let failureMark: UInt8 = 2

    /// - Returns: `nil` for anything but a complete report, such as no bytes from a process that died.
    init?(encoded: [UInt8]) {
        if encoded == [Self.readyMark] {
            self = .ready
            return
        }
        guard encoded.first == Self.failureMark, let error = Self.decode(encoded) else { return nil }
        self = .failed(error)
    }

    var encoded: [UInt8] {
        guard case .failed(let error) = self else { return [Self.readyMark] }
        var writer = ByteWriter()
        writer.append(Self.failureMark)
        writer.append(error.code.rawValue)
        writer.append(error.path ?? "")
        let messages = [error.message, error.remedy ?? .verbatim("")] + error.findings
        writer.append(UInt32(messages.count))
        for message in messages { writer.append(message) }
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8]) -> BackupError? {
        var reader = ByteReader(bytes[1...])
        do {
            let code = BackupError.Code(rawValue: try reader.readText())
            let path = try reader.readText()
            var messages: [Message] = []
            for _ in 0..<(try reader.read(UInt32.self)) { messages.append(try reader.readMessage()) }
            guard let code, messages.count >= 2, reader.isAtEnd else { return nil }
            let remedy = messages[1].english.isEmpty ? nil : messages[1]
            return BackupError(
                code, messages[0], path: path.isEmpty ? nil : path, remedy: remedy, findings: Array(messages[2...]))
        } catch {
            return nil
        }
    }
}

/// Queries the mount's root once, from a separate thread: the kernel delays the query until the mount is negotiated, and the
/// session's threads have to answer it. If the connection ends before that, the query fails.
final class ReadinessProbe {
    private let thread: SystemThread

    /// - Parameter onAnswer: called on that thread when the mount has answered.
    init(mountpoint: String, onAnswer: @escaping @Sendable () -> Void) throws(BackupError) {
        thread = try SystemThread {
            var status = stat()
            if stat(mountpoint, &status) == 0 { onAnswer() }
        }
    }

    /// Waits until the query was answered or has failed.
    func join() { thread.join() }
}
