/// A member of the exported object.
public enum EnvelopeMember: Sendable, Equatable {
    case metadata
    /// Index of a field of the metadata, if these are direct members of the outermost object.
    case metadataField(Int)
    /// Index into `AppDefinition.collections`.
    case collection(Int)
    case settings
}
