import BackupCore
import BackupRepository
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Which names are where, and what each place answers to an attempt to change it.
struct NameTests {
    @Test func `the folders and what is in them`() throws {
        let test = try TestTree()
        let tree = test.tree
        #expect(
            try tree.names("") == [
                "README.txt", "control", "copy", "exports", "history", "index.html", "jobs", "live", "remotes", "reports",
                "restore",
                "safety", "snapshots", "status.json", "versions",
            ])
        #expect(try tree.names("snapshots").sorted() == ["first", "latest", "second"])
        #expect(
            try tree.names("snapshots/first").sorted() == [
                "MD5SUMS", "SHA256SUMS", "archive.tar", "archive.zip", "changes.json", "data", "database.sqlite", "export.json",
                "index.html", "manifest.json", "media",
            ])
        #expect(try tree.names("snapshots/first/media") == ["a\nb", "empty", "link", "photo.jpg", "sub", "\u{FFFD}"])
        #expect(try tree.names("snapshots/first/media/sub") == [".hidden"])
        #expect(try tree.names("exports") == ["export_1000.json", "export_2000.json"])
        #expect(try tree.names("safety") == ["safety_1500.zip"])
        #expect(try tree.names("live") == ["export.json", "media"])
        #expect(try tree.names("live/media") == [".hidden", "link", "now.jpg"])
        #expect(try tree.names("restore") == ["preview", "merge"])
        #expect(try tree.names("restore/preview") == [])
    }

    @Test func `an empty repository has the same folders, and no latest`() throws {
        let test = try TestTree(snapshots: false)
        #expect(try test.tree.names("").count == 15)
        for folder in ["snapshots", "exports", "safety"] { #expect(try test.tree.names(folder) == []) }
        #expect(errorCode { try test.tree.find("snapshots/latest") } == .notFound)
    }

    static let folders = [
        "", "exports", "live", "live/media", "restore", "restore/preview", "safety", "snapshots", "snapshots/first",
        "snapshots/first/media",
    ]

    @Test(arguments: folders)
    func `names that are not there`(folder: String) throws {
        let test = try TestTree()
        let inode = try test.tree.find(folder).inode
        for name in ["none", ".hidden-probe", ".Trash-1000", "autorun.inf", "desktop.ini", "..", "."] {
            #expect(
                errorCode { _ = try test.tree.lookUp(FileName(name), in: inode) } == .notFound,
                "\(name)")
        }
        let long = FileName(bytes: [UInt8](repeating: 97, count: 256))
        #expect(errorCode { _ = try test.tree.lookUp(long, in: inode) } == .nameTooLong)
        #expect(
            errorCode { _ = try test.tree.lookUp(FileName(bytes: [0xFF, 0xFE]), in: inode) }
                == .notFound)
    }

    /// What a folder answers to: creating a file, making a folder, removing a file and a folder that are there, renaming one of
    /// them.
    struct Answers: Sendable {
        let folder: String
        let file: String?
        let subfolder: String?
        let create: BackupError.Code?
        let makeDirectory: BackupError.Code?
        let removeFile: BackupError.Code?
        let removeDirectory: BackupError.Code?
        let rename: BackupError.Code?
    }

    static let answers = [
        Answers(
            folder: "", file: "README.txt", subfolder: "live", create: .readOnly, makeDirectory: .readOnly, removeFile: .readOnly,
            removeDirectory: .readOnly, rename: .readOnly),
        Answers(
            folder: "exports", file: "export_1000.json", subfolder: nil, create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: nil, rename: .readOnly),
        Answers(
            folder: "safety", file: "safety_1500.zip", subfolder: nil, create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: nil, rename: .readOnly),
        Answers(
            folder: "live", file: "export.json", subfolder: "media", create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: .readOnly, rename: .readOnly),
        Answers(
            folder: "live/media", file: "now.jpg", subfolder: nil, create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: nil, rename: .readOnly),
        Answers(
            folder: "snapshots/first", file: "export.json", subfolder: "media", create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: .readOnly, rename: .readOnly),
        Answers(
            folder: "snapshots/first/media", file: "photo.jpg", subfolder: "sub", create: .readOnly, makeDirectory: .readOnly,
            removeFile: .readOnly, removeDirectory: .readOnly, rename: .readOnly),
        Answers(
            folder: "restore", file: nil, subfolder: "preview", create: nil, makeDirectory: .notPermitted, removeFile: nil,
            removeDirectory: .readOnly, rename: .readOnly),
        Answers(
            folder: "restore/preview", file: nil, subfolder: nil, create: nil, makeDirectory: .notPermitted, removeFile: nil,
            removeDirectory: nil, rename: nil),
        Answers(
            folder: "snapshots", file: nil, subfolder: nil, create: .notPermitted, makeDirectory: nil, removeFile: nil,
            removeDirectory: nil, rename: nil),
    ]

    @Test(arguments: answers)
    func `what each folder allows`(answers: Answers) throws {
        let test = try TestTree()
        let tree = test.tree
        let inode = try tree.find(answers.folder).inode
        if let expected = answers.create {
            #expect(
                errorCode {
                    _ = try tree.createFile("new", in: inode, flags: O_WRONLY | O_CREAT, process: 1)
                } == expected)
        }
        if let expected = answers.makeDirectory {
            #expect(errorCode { _ = try tree.makeDirectory("new", in: inode) } == expected)
        }
        if let file = answers.file.map({ FileName($0) }) {
            #expect(errorCode { try tree.removeFile(file, in: inode) } == answers.removeFile)
            let node = try tree.lookUp(file, in: inode).inode
            for flags in [O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_APPEND] {
                #expect(
                    errorCode { _ = try tree.openFile(node, flags: flags, process: 1) } == .readOnly)
            }
            for change in [
                AttributeChange(size: 0), AttributeChange(permissions: 0o777),
                AttributeChange(modificationTime: Timestamp(seconds: 0)),
            ] {
                #expect(
                    errorCode { _ = try tree.setAttributes(of: node, to: change, handle: nil) }
                        == .readOnly)
            }
            #expect(errorCode { _ = try tree.openDirectory(node) } == .notADirectory)
            #expect(errorCode { _ = try tree.readLink(node) } == .invalidArgument)
            #expect(errorCode { _ = try tree.lookUp("x", in: node) } == .notADirectory)
        }
        if let name = (answers.subfolder ?? answers.file).map({ FileName($0) }), let expected = answers.rename {
            for parent in [inode, try tree.find("snapshots").inode, try tree.find("restore").inode] {
                #expect(
                    errorCode {
                        try tree.rename(name, in: inode, to: "new", in: parent, mayReplace: true)
                    } == expected)
            }
        }
        if let name = answers.subfolder.map({ FileName($0) }), let expected = answers.removeDirectory {
            #expect(errorCode { try tree.removeDirectory(name, in: inode) } == expected)
            #expect(
                errorCode {
                    _ = try tree.openFile(tree.lookUp(name, in: inode).inode, flags: O_RDONLY, process: 1)
                } == .isADirectory)
        }
        // Nothing of all that changed anything.
        #expect(try tree.names("snapshots").count == 3)
        #expect(test.services.submissions == [])
    }

    @Test func `making, renaming and deleting backups`() throws {
        let test = try TestTree()
        let tree = test.tree
        let folder = try tree.find("snapshots").inode
        let made = try tree.makeDirectory("new", in: folder)
        #expect(made.kind == .directory)
        #expect(String(decoding: try tree.readLink(tree.find("snapshots/latest").inode), as: UTF8.self) == "new")
        for name in ["new", "latest"] {
            #expect(
                errorCode { _ = try tree.makeDirectory(FileName(name), in: folder) } == .alreadyExists,
                "\(name)")
        }
        for name in [".x", "a\nb", "\u{7F}"] {
            #expect(
                errorCode { _ = try tree.makeDirectory(FileName(name), in: folder) } == .notPermitted,
                "\(name)")
        }
        #expect(
            errorCode { _ = try tree.makeDirectory(FileName(bytes: [0xFF]), in: folder) }
                == .notPermitted)
        try tree.rename("new", in: folder, to: "newer", in: folder, mayReplace: true)
        #expect(try tree.find("snapshots/newer").inode == made.inode)
        #expect(errorCode { try tree.find("snapshots/new") } == .notFound)
        #expect(
            errorCode {
                try tree.rename("newer", in: folder, to: "first", in: folder, mayReplace: true)
            } == .alreadyExists)
        #expect(
            errorCode {
                try tree.rename("newer", in: folder, to: "latest", in: folder, mayReplace: true)
            } == .alreadyExists)
        #expect(
            errorCode { try tree.rename("newer", in: folder, to: "x", in: .root, mayReplace: true) }
                == .crossDevice)
        #expect(
            errorCode { try tree.rename("none", in: folder, to: "x", in: folder, mayReplace: true) }
                == .notFound)
        #expect(errorCode { try tree.removeDirectory("latest", in: folder) } == .notADirectory)
        #expect(errorCode { try tree.removeFile("newer", in: folder) } == .isADirectory)
        #expect(errorCode { try tree.removeFile("latest", in: folder) } == .readOnly)
        #expect(errorCode { try tree.removeDirectory("none", in: folder) } == .notFound)
        try tree.removeDirectory("newer", in: folder)
        #expect(try tree.names("snapshots") == ["first", "second", "latest"])
        #expect(String(decoding: try tree.readLink(tree.find("snapshots/latest").inode), as: UTF8.self) == "second")
    }
}
