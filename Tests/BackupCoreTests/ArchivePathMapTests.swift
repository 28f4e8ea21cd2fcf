import BackupCore
import Testing

struct ArchivePathMapTests {
    private static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    private static let app: ArchivePathMap = ["export.json": "metadata.json", "media/": "photos/"]

    @Test(arguments: [
        ("export.json", "metadata.json"), ("media/", "photos/"), ("media/a/b.jpg", "photos/a/b.jpg"),
        ("export.json.old", "metadata.json.old"), ("media", nil), ("data/cars.json", nil), ("", nil),
    ])
    func `a path in the archive, and back`(path: String, archived: String?) {
        #expect(Self.text(Self.app.archivePath(of: Array(path.utf8))) == archived)
        guard let archived else { return }
        #expect(Self.text(Self.app.snapshotPath(of: Array(archived.utf8))) == path)
    }

    @Test func `what is in no place of the archive has no path in the snapshot`() {
        for path in ["README", "photo", "media/a.jpg", ""] {
            #expect(Self.app.snapshotPath(of: Array(path.utf8)) == nil, "\(path)")
        }
    }

    @Test func `without rules both paths are the same, whatever their bytes`() {
        let path: [UInt8] = [0x61, 0xFF, 0x2F]
        #expect(ArchivePathMap.identity.archivePath(of: path) == path && ArchivePathMap.identity.snapshotPath(of: path) == path)
        #expect(ArchivePathMap.identity.isIdentity && !Self.app.isIdentity)
    }

    /// Records of snapshots may hold such rules: nothing refused them once.
    @Test func `of rules that match the same file the longest counts, both ways`() {
        let map: ArchivePathMap = ["media/": "photos/", "media/raw/": "raw/", "media/raw/x/": "photos/x/"]
        for (path, archived) in [
            ("media/a.jpg", "photos/a.jpg"), ("media/raw/a.dng", "raw/a.dng"), ("media/raw/x/a.dng", "photos/x/a.dng"),
        ] {
            #expect(Self.text(map.archivePath(of: Array(path.utf8))) == archived)
            #expect(Self.text(map.snapshotPath(of: Array(archived.utf8))) == path)
        }
    }

    @Test func `an empty place in the archive`() {
        let map: ArchivePathMap = ["export.json": "notes.json", "media/": ""]
        #expect(Self.text(map.archivePath(of: Array("media/a.jpg".utf8))) == "a.jpg")
        #expect(Self.text(map.snapshotPath(of: Array("a.jpg".utf8))) == "media/a.jpg")
        #expect(Self.text(map.snapshotPath(of: Array("notes.json".utf8))) == "export.json")
    }

    @Test func `places that are left out get names that no rule uses`() {
        let map: ArchivePathMap = ["data/": "media/"]
        let whole: ArchivePathMap = ["data/": "media/", "export.json": "export.json", "media/": "backup-media/"]
        #expect(map.including(["export.json", "media/"]) == whole)
        #expect(Self.app.including(["export.json", "media/"]) == Self.app)
        #expect(ArchivePathMap.identity.including(["export.json"]) == .identity)
    }

    @Test func `targets in which others are nested get names of their own`() {
        let nested: ArchivePathMap = ["export.json": "notes.json", "media/": "", "data/": "data/", "by-key/": "data/"]
        let separate: ArchivePathMap = [
            "export.json": "notes.json", "media/": "backup-media/", "data/": "data/", "by-key/": "backup-by-key/",
        ]
        #expect(nested.withoutNestedTargets == separate)
        #expect(Self.app.withoutNestedTargets == Self.app)
        let taken: ArchivePathMap = ["export.json": "backup-media/x", "media/": ""]
        #expect(taken.withoutNestedTargets == ["export.json": "backup-media/x", "media/": "backup-backup-media/"])
    }

    @Test func `rules that match the same file are found in the order of the definition`() {
        func overlap(_ froms: String...) -> [Int] {
            ArchivePathMap.firstOverlap(of: froms.map { ArchivePathMap.Rule(from: $0, to: "x") }).map { [$0.rule, $0.earlier] }
                ?? []
        }
        #expect(overlap("export.json", "media/", "data/") == [])
        #expect(overlap("a", "media/", "b", "media/raw/", "media/") == [3, 1])
        #expect(overlap("media/raw/", "media/") == [1, 0])
        #expect(overlap("a", "a") == [1, 0])
        #expect(overlap("a", "") == [1, 0])
        #expect(overlap("media/e\u{301}/", "media/\u{E9}/") == [1, 0])
    }
}
