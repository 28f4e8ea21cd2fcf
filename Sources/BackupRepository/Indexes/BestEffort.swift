import BackupCore

/// Runs what only saves time or requests: a failure of it must not fail a backup.
enum BestEffort {
    /// - Throws: only what says that nothing else will succeed either, or that the operation must end: `offline`, `interrupted`,
    ///   `locked`.
    static func run(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        do throws(BackupError) {
            try body()
        } catch {
            switch error.code {
            case .offline, .interrupted, .locked: throw error
            default: return
            }
        }
    }
}
