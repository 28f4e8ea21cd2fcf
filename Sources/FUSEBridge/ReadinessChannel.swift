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
    /// - Throws: `interrupted` when the waiting process is gone: the program that requested the mount was stopped and no longer wants it.
    public func reportReady() throws(BackupError) {
        guard send(.ready) else { throw BackupError(.interrupted, "the program that asked for the mount is gone") }
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
