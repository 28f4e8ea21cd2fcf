import BackupCore
import Glibc
import SystemIO

/// An advisory lock that is only held for moments, so that waiting for it pays.
enum WaitingLock {
    private static let attemptCount = 4000
    private static let pauseMicroseconds: UInt32 = 5_000

    /// Waits up to 20 seconds.
    /// - Throws: `busy` when it is still held then.
    static func acquire(path: String) throws(BackupError) -> AdvisoryLock {
        for _ in 1..<attemptCount {
            do {
                return try AdvisoryLock(path: path)
            } catch {
                guard error.code == .busy else { throw error }
            }
            usleep(pauseMicroseconds)
        }
        return try AdvisoryLock(path: path)
    }
}
