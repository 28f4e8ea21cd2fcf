/// Where files of a snapshot lie in the app's archive: paths that begin with `from` begin with `to` there. The first rule that
/// fits counts; with no rule at all the archive is the snapshot as it lies, and with some, files that none fits are left out.
public struct ArchiveRule: Sendable, Equatable {
    public let from: String
    public let to: String

    public init(from: String, to: String) {
        self.from = from
        self.to = to
    }
}
