import BackupCore
import Glibc
import SystemIO

/// A path as a file manager shows it, and its address as GLib writes it: a thumbnail is found by the address.
public enum BrowsedPath {
    private static let slash = UInt8(ascii: "/")

    /// The absolute path without `.`, `..` and further slashes. Symbolic links stay, as GLib and the file managers keep them.
    public static func absolute(_ path: String) -> [UInt8] {
        var names: [FileName] = []
        for name in BytePath.components(of: Array((path.hasPrefix("/") ? path : "\(currentFolder)/\(path)").utf8)) {
            switch name {
            case ".": continue
            case "..": _ = names.popLast()
            default: names.append(name)
            }
        }
        return [slash] + BytePath.joined(names)
    }

    /// The folder that the shell shows, if it is the current one.
    private static var currentFolder: String {
        if let shown = Environment.text("PWD"), shown.hasPrefix("/"), let status = FileSystem.statusIfPresent(shown),
            let current = FileSystem.statusIfPresent("."), FileIdentity(status) == FileIdentity(current)
        {
            return shown
        }
        return FileSystem.absolutePath(".")
    }

    /// `file://` and the path, as g_filename_to_uri of GLib writes it: all but letters, digits and `!$&'()*+,-./:=@_~` as `%C3`.
    /// - Parameter path: absolute.
    public static func address(of path: [UInt8]) -> String {
        "file://" + PercentEncoding.encode(path, keeping: "!$&'()*+,/:=@")
    }
}
