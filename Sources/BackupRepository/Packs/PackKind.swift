/// What a pack holds. Files' chunks and the repository's own structures go to separate packs: walking snapshots then reads few packs, and losing a photo's pack
/// loses no folder. The raw values are part of the repository format.
enum PackKind: UInt8, Sendable {
    case data = 0
    case metadata = 1
}
