import CSQLite

/// Triggers of one connection.
enum DatabaseTriggers {
    /// No trigger runs any more, whatever this connection does.
    static func disable(_ connection: OpaquePointer?) { _ = backupfs_disable_triggers(connection) }
}
