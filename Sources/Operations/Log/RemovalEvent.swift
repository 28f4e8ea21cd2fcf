/// A backup was removed.
struct RemovalEvent: Sendable {
    let snapshot: String
    /// What keeps backups, and did not keep this one; empty where the user named it.
    let rule: String
}
