import SystemIO

/// Links in HTML files to files beside them.
public enum PageLink {
    /// The address of a file relative to the page, for an attribute in double quotes. A name can have any bytes: it is never
    /// taken for the address of something else.
    /// - Parameter components: the names of the folders on the way, and of the file.
    public static func address(_ components: [[UInt8]], isFolder: Bool = false) -> String {
        "./" + components.map { PercentEncoding.encode($0) }.joined(separator: "/") + (isFolder ? "/" : "")
    }
}
