import BackupCore
import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Extended attributes: which there are, and that every other one is refused at once.
struct ExtendedAttributeTests {
    private static let sums = ["user.checksum.crc32", "user.checksum.md5", "user.checksum.sha1", "user.checksum.sha256"]

    @Test func `the names there are`() throws {
        let tree = try TestTree().tree
        for (path, names) in [
            ("snapshots/first/export.json", Self.sums + ["user.mime_type"]),
            // Not what costs a read of the file.
            ("snapshots/first/archive.zip", ["user.mime_type"]), ("snapshots/first/archive.tar", ["user.mime_type"]),
            ("snapshots/first/SHA256SUMS", Self.sums + ["user.mime_type"]), ("live/export.json", ["user.mime_type"]),
            ("exports/export_1000.json", Self.sums + ["user.mime_type"]),
            ("safety/safety_1500.zip", ["user.mime_type"]),
            ("README.txt", ["user.mime_type"]), ("status.json", ["user.mime_type"]), ("snapshots/latest", []),
            ("snapshots", ["user.backupfs.generation"]),
            ("live", []),
            ("snapshots/first/media", []), ("snapshots/first/media/link", []),
            ("", ["user.backupfs.process", "user.backupfs.store"]),
            (
                "snapshots/first",
                [
                    "user.backupfs.app", "user.backupfs.created-at", "user.backupfs.pinned", "user.backupfs.records",
                    "user.backupfs.state",
                ]
            ),
        ] as [(String, [String])] {
            let inode = try tree.find(path).inode
            #expect(try tree.extendedAttributeNames(of: inode) == names, "\(path)")
            for name in names + (path.hasPrefix("snapshots/first/archive") ? Self.sums : []) {
                #expect(try !tree.extendedAttribute(name, of: inode).contains(0))
            }
            if path.hasPrefix("snapshots/first/archive") {
                #expect(try tree.extendedAttributeNames(of: inode) == Self.sums + names, "\(path)")
            }
            for name in [
                "user.none", "security.selinux", "system.posix_acl_access", "trusted.x", "", "user.", "user.checksum.",
                "user.checksum.sha512", "user.backupfs.stamp",
            ] {
                #expect(
                    errorCode { _ = try tree.extendedAttribute(name, of: inode) } == .noAttribute,
                    "\(path) \(name)")
            }
        }
    }

    @Test(arguments: [
        ("snapshots/first/export.json", "application/json"), ("snapshots/first/database.sqlite", "application/vnd.sqlite3"),
        ("snapshots/first/archive.zip", "application/zip"), ("snapshots/first/archive.tar", "application/x-tar"),
        ("snapshots/first/MD5SUMS", "text/plain"),
        ("snapshots/first/media/photo.jpg", "image/jpeg"),
        ("snapshots/first/media/empty", "application/octet-stream"),
        ("snapshots/first/media/sub/.hidden", "application/octet-stream"),
        ("README.txt", "text/plain"), ("status.json", "application/json"), ("safety/safety_1500.zip", "application/zip"),
    ])
    func `MIME types`(path: String, type: String) throws {
        #expect(try TestTree().tree.attribute("user.mime_type", path) == type)
    }

    @Test(arguments: [
        ("A.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("a.", "application/octet-stream"),
        (".jpg", "application/octet-stream"), ("a.CR2", "image/x-canon-cr2"),
    ])
    func `MIME types go by the last extension, in whatever case`(name: String, type: String) {
        #expect(MIMEType.of(FileName(name)) == type)
    }

    @Test func `pinning`() throws {
        let test = try TestTree()
        let tree = test.tree
        let inode = try tree.find("snapshots/first").inode
        let name = "user.backupfs.pinned"
        #expect(try tree.attribute(name, "snapshots/first") == "0")
        try tree.setExtendedAttribute(name, of: inode, to: Array("1".utf8))
        #expect(try tree.attribute(name, "snapshots/first") == "1")
        // Also through the node that was there before.
        #expect(try tree.extendedAttribute(name, of: inode) == Array("1".utf8))
        #expect(try test.remounted().attribute(name, "snapshots/first") == "1")
        #expect(try tree.attribute(name, "snapshots/second") == "0")
        for value in ["", "2", "yes", "10", "1\n"] {
            #expect(
                errorCode { try tree.setExtendedAttribute(name, of: inode, to: Array(value.utf8)) }
                    == .invalidArgument)
        }
        #expect(
            errorCode { try tree.setExtendedAttribute("user.backupfs.app", of: inode, to: [65]) }
                == .readOnly)
        #expect(
            errorCode { try tree.removeExtendedAttribute("user.backupfs.app", of: inode) } == .readOnly)
        try tree.removeExtendedAttribute(name, of: inode)
        #expect(try tree.attribute(name, "snapshots/first") == "0")
        let file = try tree.find("snapshots/first/export.json").inode
        #expect(errorCode { try tree.setExtendedAttribute(name, of: file, to: [49]) } == .readOnly)
        #expect(
            errorCode { try tree.setExtendedAttribute("security.x", of: file, to: [49]) }
                == .notSupported)
        #expect(try tree.attribute("user.backupfs.created-at", "snapshots/first") == "1970-01-01T00:16:40Z")
    }
}
