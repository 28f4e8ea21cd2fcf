/// A backup was removed.
struct RemovalEvent: Sendable {
    let snapshot: String
    /// The retention rule, which did not keep this backup; empty if the user named it.
    let rule: String
}
