import BackupCore
import SystemIO

/// The answer to PROPFIND: the properties of files and folders as XML (RFC 4918, sections 9.1 and 15). All that there are,
/// whatever was asked for.
struct PropertyList {
    private var parts: [String] = ["<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n"]

    /// The whole document.
    var bytes: [UInt8] { Array((parts.joined() + "</D:multistatus>\n").utf8) }

    /// - Parameter path: in the tree, as it was asked for.
    mutating func add(_ path: [FileName], _ status: FileStatus) {
        let isFolder = status.kind == .directory
        let name = path.last.map { XMLText.escaped(String(decoding: $0.bytes, as: UTF8.self)) } ?? "backupfs"
        var properties = [
            "<D:displayname>\(name)</D:displayname>",
            "<D:getlastmodified>\(HTTPDate.text(status.modificationTime))</D:getlastmodified>",
            "<D:creationdate>\(HTTPDate.internet(status.modificationTime))</D:creationdate>", "<D:supportedlock/>",
        ]
        if isFolder {
            properties.append("<D:resourcetype><D:collection/></D:resourcetype>")
        } else {
            properties += [
                "<D:resourcetype/>", "<D:getcontentlength>\(status.size)</D:getcontentlength>",
                "<D:getcontenttype>\(ContentType.of(path))</D:getcontenttype>",
                "<D:getetag>\(XMLText.escaped(EntityTag.of(status)))</D:getetag>",
            ]
        }
        parts.append(
            """
            <D:response><D:href>\(RequestPath.address(path, isFolder: isFolder))</D:href><D:propstat><D:prop>\(properties.joined())\
            </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>

            """)
    }
}

/// A name for the content of a file: another content has another one.
enum EntityTag {
    static func of(_ status: FileStatus) -> String {
        let times = [status.modificationTime, status.changeTime].map { "\($0.seconds).\($0.nanoseconds)" }
        return "\"\(([String(status.inode), String(status.size)] + times).joined(separator: "-"))\""
    }

    /// Whether a header such as `If-None-Match` names it.
    static func isNamed(_ tag: String, by header: String) -> Bool {
        header.split(separator: ",").contains { part in
            let name = part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
            let text = String(name)
            return text == "*" || text == tag || text == "W/" + tag
        }
    }
}
