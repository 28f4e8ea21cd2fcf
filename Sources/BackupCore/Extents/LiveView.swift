/// One consistent state of the app's data, as the files of `live/`.
public protocol LiveView: AnyObject, Sendable {
    /// The entries of the folder at `path` (empty for `live/` itself), sorted by name; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]?
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry?
}
