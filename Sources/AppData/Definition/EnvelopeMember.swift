/// A member of the exported object.
public enum EnvelopeMember: Sendable, Equatable {
    case metadata
    /// Index into `AppDefinition.collections`.
    case collection(Int)
    case settings
}
