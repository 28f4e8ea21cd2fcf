import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// Archives that are dropped, made by Python's zipfile: what is checked, and how the media come out.
struct ArchiveImportTests {
    /// Runs Python with `z`, the archive `a.zip`, and `add(name, data, mode, time)`.
    private static func archive(_ folder: TemporaryFolder, _ lines: String) throws {
        try folder.write(Diary.export(), to: "export.json")
        try folder.write(
            """
            import hashlib, zipfile
            export = open("export.json", "rb").read()
            z = zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED)
            def add(name, data=b"", mode=0o100644, time=(2024, 7, 1, 12, 34, 56)):
                i = zipfile.ZipInfo(name, time)
                i.create_system = 3
                i.external_attr = mode << 16 | (0x10 if name.endswith("/") else 0)
                i.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(i, data)
            def sums(**files):
                add("SHA256SUMS", "".join(f"{hashlib.sha256(d).hexdigest()}  {n.replace('_', '.')}\\n" for n, d in files.items()).encode())
            \(lines)
            z.close()
            """, to: "make.py")
        try folder.sh("python3 make.py")
    }

    private static func check(_ folder: TemporaryFolder) throws {
        var archive = try open(folder)
        try archive.check(writingRecordsTo: folder("out.json"))
    }

    private static func open(_ folder: TemporaryFolder, limit: UInt64 = 1 << 30) throws(BackupError) -> ArchiveImport {
        let definition: AppDefinition
        do { definition = try Diary.definition() } catch { throw BackupError(.invalidContent, "\(error)") }
        return try ArchiveImport(
            ImportSource(file: folder("a.zip")), .zip, definition: definition, freeSpaceBytes: limit)
    }

    @Test func `an archive without an export is of something else`() throws {
        let folder = try TemporaryFolder()
        try Self.archive(folder, "add('other.json', export); add('media/a.jpg', b'a')")
        let error = failure { _ = try Self.open(folder) }
        #expect(error?.code == .invalidContent)
        #expect(error?.message == "Import failed: the archive has no export.json")
        #expect(error?.findings == ["the archive is not a backup of Photo Diary"])
    }

    /// As a SmilePile backup of before has them.
    @Test func `names that are too long in the archive come back, if it is the store's own`() throws {
        let folder = try TemporaryFolder()
        try Self.archive(
            folder,
            """
            import json
            paths = {12: 'x' * 251 + '.jpg', 13: 'photos/' + '写' * 83 + '.JPG'}
            photos = [{'id': key, 'path': path, 'categoryId': 1, 'name': 'p', 'createdAt': 7} for key, path in paths.items()]
            names = {key: f"photos/{key}_{path.split('/')[-1]}" for key, path in paths.items()}
            manifest = [{'photoId': key, 'originalPath': paths[key], 'zipEntryName': names[key], 'fileName': names[key][7:], 'fileSize': 1}
                        for key in paths]
            category = {'id': 1, 'name': 'n', 'displayName': 'N', 'position': 0, 'createdAt': 7}
            add('metadata.json', json.dumps(
                {'version': 2, 'categories': [category], 'photos': photos, 'photoManifest': manifest}).encode())
            for key, name in names.items(): add(name, str(key)[1:].encode())
            """)
        let definition = try AppDefinition.builtIn(named: "smilepile")
        let foreign = try ImportSource(file: folder("a.zip"))
        #expect(
            failure { _ = try ArchiveImport(foreign, .zip, definition: definition, freeSpaceBytes: 1 << 30) }?.code
                == .invalidContent)
        var archive = try ArchiveImport(foreign.asOwn, .zip, definition: definition, freeSpaceBytes: 1 << 30)
        try archive.check(writingRecordsTo: folder("out.json"))
        try ArchiveProbe(definition).run(foreign.asOwn, exportPath: folder("out.json"))
        let wire = try WireImport(SharedFile(path: folder("out.json")), definition: definition, limitsMetadata: false)
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        let placed = try archive.place(manifest.entries, isComplete: false, pointer: MediaPointer(definition))
        // The file gets the name back that the record has for it.
        #expect(placed.warnings.isEmpty && placed.recordPaths.isEmpty)
        try folder.sh("mkdir staged")
        try archive.stageMedia(in: folder("staged"))
        #expect(
            try folder.sh("cd staged; export LC_ALL=C; ls; cat *")
                == "\(String(repeating: "x", count: 251)).jpg\n\(String(repeating: "写", count: 83)).JPG\n23")
    }

    @Test func `digests that differ, and files that are missing, are damage`() throws {
        for (lines, finding) in [
            (
                "add('export.json', export); sums(export_json=export + b'x')",
                "the SHA-256 of export.json is not the one in SHA256SUMS"
            ),
            (
                "add('export.json', export); sums(export_json=export, a_jpg=b'a')",
                "a.jpg is in SHA256SUMS, but not in the archive"
            ),
            (
                "add('export.json', export); add('SHA256SUMS', b'rubbish')",
                "SHA256SUMS has a line that is not a digest and a path"
            ),
        ] {
            let folder = try TemporaryFolder()
            try Self.archive(folder, lines)
            let error = failure { try Self.check(folder) }
            #expect(error?.code == .damagedContent, "\(lines)")
            #expect(error?.message == "This backup file is corrupted and cannot be restored.")
            #expect(error?.findings.map(\.english) == [finding])
        }
    }

    @Test func `a good one gives its export, byte for byte, with or without digests and a folder around it`() throws {
        for lines in [
            "add('export.json', export)", "add('export.json', export); sums(export_json=export)",
            "add('backup/', b'', 0o40755); add('backup/export.json', export); add('backup/media/a.jpg', b'a')",
        ] {
            let folder = try TemporaryFolder()
            try Self.archive(folder, lines)
            var archive = try Self.open(folder)
            try archive.check(writingRecordsTo: folder("out.json"))
            try folder.sh("cmp out.json export.json")
            #expect(archive.hasMedia == lines.contains("media"))
        }
    }

    /// What `verify` asks of a backup's own archive.
    @Test func `an archive without the media of its backup is found`() throws {
        for (lines, message) in [
            ("add('export.json', export)", "Import failed: the archive has none of the backup's media"),
            ("add('export.json', export); add('media/', b'', 0o40755)", nil),
        ] {
            let folder = try TemporaryFolder()
            try Self.archive(folder, lines)
            let own = try ImportSource(file: folder("a.zip")).asOwn(archiveLayout: [:])
            let trial = ArchiveProbe(try Diary.definition())
            let error = failure { try trial.run(own, exportPath: folder("export.json"), hasMedia: true) }
            #expect(error?.message.english == message && error?.code == (message == nil ? nil : .invalidContent))
            #expect(failure { try trial.run(own, exportPath: folder("export.json")) } == nil)
        }
    }

    @Test func `a byte of a photo that changed is damage`() throws {
        let folder = try TemporaryFolder()
        try Self.archive(folder, "add('export.json', export); z.writestr('media/a.jpg', b'0123456789' * 20, zipfile.ZIP_STORED)")
        try folder.sh(
            "python3 -c \"d=open('a.zip','rb').read(); i=d.index(b'0123456789'); open('a.zip','wb').write(d[:i+5]+b'X'+d[i+6:])\""
        )
        #expect(
            failure { try Self.check(folder) }?.code
                == .damagedContent)
    }

    @Test func `media come out with their modes, times and names, and nothing else does`() throws {
        let folder = try TemporaryFolder()
        try Self.archive(
            folder,
            """
            add('export.json', export); add('elsewhere/x', b'x')
            add('media/', b'', 0o40755); add('media/sub/', b'', 0o40750, (2020, 2, 2, 2, 2, 2)); add('media/sub/deep/', b'', 0o40555)
            add('media/sub/deep/b.jpg', b'bb', 0o100444); add('media/a.jpg', b'a', 0o104755)
            add('media/ä ö.jpg', b'u'); add('media/without/folder/entry.jpg', b'w'); add('media/empty/', b'', 0o40700)
            add('media/link', b'sub/deep/b.jpg', 0o120777)
            """)
        let archive = try Self.open(folder)
        #expect(archive.hasMedia)
        #expect(archive.mediaSizeBytes == 19)
        try folder.sh("mkdir staged")
        try archive.stageMedia(in: folder("staged"))
        #expect(
            try folder.sh("cd staged; find . -mindepth 1 -printf '%y %m %P %l\\n' | LC_ALL=C sort") == """
                d 700 empty\u{20}
                d 700 without\u{20}
                d 700 without/folder\u{20}
                d 750 sub\u{20}
                d 755 sub/deep\u{20}
                f 644 sub/deep/b.jpg\u{20}
                f 644 without/folder/entry.jpg\u{20}
                f 644 ä ö.jpg\u{20}
                f 755 a.jpg\u{20}
                l 777 link sub/deep/b.jpg
                """)
        #expect(try folder.sh("cd staged; cat sub/deep/b.jpg a.jpg 'ä ö.jpg' without/folder/entry.jpg") == "bbauw")
        #expect(
            try folder.sh("TZ=UTC stat -c %y staged/sub staged/a.jpg | cut -c1-19") == "2020-02-02 02:02:02\n2024-07-01 12:34:56")
    }

    @Test(arguments: ["../../escape", "/etc/passwd", "../new.jpg", "a/../../b", ""])
    func `links that leave the folder are refused`(target: String) throws {
        let folder = try TemporaryFolder()
        try Self.archive(folder, "add('export.json', export); add('media/link', b'\(target)', 0o120777)")
        #expect(failure { try Self.check(folder) } != nil)
    }

    @Test func `more than fits on the disk is refused before anything is unpacked`() throws {
        let folder = try TemporaryFolder()
        try Self.archive(folder, "add('export.json', export); add('media/a', bytes(range(256)) * 100)")
        #expect(failure { _ = try Self.open(folder, limit: 1000) }?.code == .noSpace)
    }
}
