import SystemIO

/// Links in HTML files to files beside them.
public enum PageLink {
    /// The address of a file relative to the page, for an attribute in double quotes. A name can have any bytes: it is never
    /// taken for the address of something else.
    /// - Parameters:
    ///   - components: the names of the folders on the way, and of the file.
    ///   - levelsUp: of how many folders the page is below the one that the way begins in.
    public static func address(_ components: [[UInt8]], isFolder: Bool = false, levelsUp: Int = 0) -> String {
        (levelsUp == 0 ? "./" : String(repeating: "../", count: levelsUp))
            + components.map { PercentEncoding.encode($0) }.joined(separator: "/") + (isFolder ? "/" : "")
    }
}
