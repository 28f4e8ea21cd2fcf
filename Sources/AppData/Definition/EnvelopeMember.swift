/// A member of the exported object.
public enum EnvelopeMember: Sendable, Equatable {
    case metadata
    /// Index of a field of the metadata, when those are members of the outermost object themselves.
    case metadataField(Int)
    /// Index into `AppDefinition.collections`.
    case collection(Int)
    case settings
}
