import BackupCore
import Glibc
import Synchronization
import SystemIO

/// In a program that was started in the background: the way back to whoever waits for it. Only the first report counts.
public final class ReadinessChannel: Sendable {
    /// Gone after the report: its end is what the waiting program waits for.
    private struct Writer: ~Copyable, Sendable {
        var descriptor: OwnedDescriptor?
    }

    private let writer: Mutex<Writer>

    init(_ descriptor: consuming OwnedDescriptor) { writer = Mutex(Writer(descriptor: descriptor)) }

    /// The mount answers.
    /// - Throws: `interrupted` when nobody waits any more: whoever began this was stopped, and wants no mount.
    public func reportReady() throws(BackupError) {
        guard send(.ready) else { throw BackupError(.interrupted, "the program that asked for the mount is gone") }
    }

    /// The mount failed, and this program is about to end.
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
