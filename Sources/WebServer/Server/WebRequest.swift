import BackupCore
import SystemIO

/// A request as far as the tree needs it.
struct WebRequest {
    let method: String
    /// As it was sent, with escapes and without what follows a question mark.
    let path: String
    /// The header of a name; `nil` if there is none.
    let header: (_ name: String) -> String?
    /// The value of a parameter in the address, with escapes; empty if it has none, `nil` if it is not there.
    let parameter: (_ name: String) -> String?

    /// A whole address, as proxies get it, leads to the same file.
    var localPath: Substring {
        guard path.hasPrefix("http://") || path.hasPrefix("https://") else { return path[...] }
        let rest = path.drop { $0 != ":" }.dropFirst(3)
        return rest.drop { $0 != "/" }
    }
}

/// An answer before it is sent.
struct WebAnswer {
    enum Body {
        case bytes([UInt8])
        /// Part of a file, read when it is sent. If the file cannot be read, the connection ends before all of it was sent.
        case file(SharedFile, Range<UInt64>)
    }

    var status: UInt32
    var headers: [(name: String, value: String)]
    var body: Body

    init(_ status: UInt32, _ headers: [(name: String, value: String)] = [], _ body: Body = .bytes([])) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    static func text(_ status: UInt32, _ text: String, _ headers: [(name: String, value: String)] = []) -> WebAnswer {
        WebAnswer(status, headers + [("Content-Type", "text/plain; charset=utf-8")], .bytes(Array((text + "\n").utf8)))
    }
}
