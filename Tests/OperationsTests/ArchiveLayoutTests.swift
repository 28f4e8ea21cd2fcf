import BackupCore
import BackupRepository
import TestSupport
import Testing

@testable import Operations
@testable import SnapshotFormats

/// Archives whose media are not where the app's current definition says: no restore silently combines old records with new media.
@Suite struct ArchiveLayoutTests {
    private static let layout = "archiveLayout:\n  - {from: export.json, to: export.json}\n  - {from: media/, to: photos/}\n"

    /// A store whose backup A has the photos one.jpg and two.jpg, and the caption "old".
    private static func sandbox(_ layout: String = layout) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(PhotoDiary.definition + layout, to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml >/dev/null; mkdir -p $S/app/photos
            sqlite3 $S/app/database.sqlite "DELETE FROM photos; INSERT INTO photos VALUES (1, 'one.jpg', 'old')"
            printf one >$S/app/photos/one.jpg; printf two >$S/app/photos/two.jpg
            backupfs backup --label A --store $S >/dev/null
            """)
        return sandbox
    }

    private static let change =
        """
        sqlite3 $S/app/database.sqlite "UPDATE photos SET caption = 'new'"; printf NEW >$S/app/photos/one.jpg; rm -f $S/app/photos/two.jpg

        """
    private static let state = "sqlite3 $S/app/database.sqlite 'SELECT caption FROM photos'; cd $S/app/photos; head -c 9 *"
    private static let old = "old\n==> one.jpg <==\none\n==> two.jpg <==\ntwo"
    private static let new = "new\nNEW"

    private static func expectRestored(_ sandbox: Sandbox, _ source: String) throws {
        try sandbox.sh(change + "backupfs restore \(source) --yes --store $S >/dev/null")
        #expect(try sandbox.sh(state) == old, "\(source)")
    }

    @Test func `a backup is restored by its own layout, by name and as a file, when the app's has changed`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            backupfs export A --zip -o $R/A.zip --store $S >/dev/null; backupfs export A --tar -o $R/A.tar --store $S >/dev/null
            sed -i 's#to: photos/#to: bilder/#' $S/app.yaml; grep -q 'to: bilder/' $S/app.yaml
            backupfs verify A --store $S
            """)
        for source in ["A", "$R/A.zip", "$R/A.tar"] { try Self.expectRestored(sandbox, source) }
        // The safety backup of the last restore has the new layout.
        try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.state) == Self.new)
    }

    @Test func `a backup's folder that any program has packed brings its media`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            backupfs restore A --target $R/T --store $S >/dev/null; cd $R/T; zip -qr ../packed.zip .; tar cf ../packed.tar .; cd ..
            zip -qr folder.zip T
            """)
        for source in ["$R/packed.zip", "$R/packed.tar", "$R/folder.zip"] { try Self.expectRestored(sandbox, source) }
    }

    /// A definition with such rules is refused. Backups that were made with one are restored completely.
    @Test func `a backup whose layout has two rules for the same files is restored by its archives and by name`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            mkdir -p $S/app/photos/raw; printf dng >$S/app/photos/raw/one.dng; backupfs backup --label B --store $S >/dev/null
            """)
        let store = try Store.open(sandbox.storePath)
        let made = try store.snapshot(named: "B").record
        let layout: ArchivePathMap = ["export.json": "export.json", "media/": "photos/", "media/raw/": "raw/"]
        let sizes = try ArchiveSizes(
            of: try store.repository.directory(made.root), layout: layout, names: .none, time: made.creationTime,
            in: store.repository)
        _ = try store.repository.makeWriter().commit(
            SnapshotRecord(
                kind: made.kind, name: "C", creationTime: made.creationTime, parent: nil, root: made.root,
                archiveSizeBytes: sizes.zip, archiveLayout: layout, attributes: made.attributes))
        try sandbox.sh("backupfs export C --zip -o $R/C.zip --store $S; backupfs export C --tar -o $R/C.tar --store $S")
        let names = try sandbox.sh("unzip -Z1 $R/C.zip | grep -e jpg -e dng | sort")
        #expect(names == "photos/one.jpg\nphotos/two.jpg\nraw/one.dng")
        for source in ["C", "$R/C.zip", "$R/C.tar"] {
            try sandbox.sh(
                Self.change
                    + """
                    printf other >$S/app/photos/raw/one.dng
                    backupfs restore \(source) --strategy replace --yes --store $S
                    """)
            let files = try sandbox.sh("cd $S/app/photos; head -c 9 *.jpg raw/*")
            #expect(files == Self.old.dropFirst(4) + "\n==> raw/one.dng <==\ndng", "\(source)")
        }
    }

    @Test func `a photo that is called as the export in the archive does not keep a backup from being restored by name`() throws {
        let sandbox = try Self.sandbox("archiveLayout:\n  - {from: export.json, to: notes.json}\n  - {from: media/, to: \"\"}\n")
        try sandbox.sh(
            "printf photo >$S/app/photos/notes.json; backupfs backup --label B --store $S; backupfs verify B --store $S")
        try sandbox.sh("rm $S/app/photos/notes.json; backupfs restore B --strategy replace --yes --store $S")
        #expect(try sandbox.sh("cat $S/app/photos/notes.json; ls $S/app/photos") == "photonotes.json\none.jpg\ntwo.jpg")
        // In the archive, two entries have that name.
        try sandbox.sh("backupfs export B --zip -o $R/B.zip --store $S; rm $S/app/photos/notes.json")
        let result = try sandbox.run("backupfs restore $R/B.zip --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains(#"The archive has two entries named "notes.json"."#), "\(result)")
    }

    @Test func `records that the layout puts at the media's place are not taken for media`() throws {
        let sandbox = try Self.sandbox(
            "archiveLayout:\n  - {from: export.json, to: export.json}\n  - {from: data/, to: media/}\n")
        try sandbox.sh("backupfs export A --zip -o $R/A.zip --store $S")
        let names = try sandbox.sh("unzip -Z1 $R/A.zip | sort")
        #expect(names == "export.json\nmedia/\nmedia/photos.json")
        try sandbox.sh(Self.change + "backupfs restore $R/A.zip --strategy replace --yes --store $S")
        #expect(try sandbox.sh(Self.state) == "old\nNEW")
    }

    @Test func `a layout that leaves the media out does not leave them out of a restore by name`() throws {
        let sandbox = try Self.sandbox("archiveLayout:\n  - {from: data/, to: media/}\n")
        try sandbox.sh("backupfs verify A --store $S")
        try Self.expectRestored(sandbox, "A")
    }

    @Test func `media in a folder that is not known are refused, and nothing is changed`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            cd $R; backupfs export A --json -o export.json --store $S >/dev/null; mkdir pictures; printf one >pictures/one.jpg; printf two >pictures/two.jpg
            zip -q other.zip export.json pictures/one.jpg pictures/two.jpg
            """)
        let result = try sandbox.run(Self.change + "backupfs restore $R/other.zip --yes --store $S")
        #expect(result.exitCode == 1)
        for line in [
            "Import failed: the archive's media are not in photos/",
            "2 files of the archive are not restored, since they are in no known place; the first is pictures/one.jpg",
            "give their folder that name, and pack it again",
        ] {
            #expect(result.errors.contains(line), "\(result.errors)")
        }
        #expect(try sandbox.sh(Self.state) == Self.new)
    }

    @Test func `other files of an archive are reported, except what desktops leave`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            cd $R; backupfs export A --zip -o other.zip --store $S >/dev/null; mkdir thumbs __MACOSX; printf t | tee thumbs/one.png >__MACOSX/._one.jpg
            printf r | tee README.txt >.DS_Store; zip -q other.zip README.txt .DS_Store __MACOSX/._one.jpg
            """)
        try Self.expectRestored(sandbox, "$R/other.zip")
        let warning = "1 file of the archive is not restored, since it is in no known place: README.txt"
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == warning)
        try sandbox.sh("cd $R; zip -q other.zip thumbs/one.png")
        try Self.expectRestored(sandbox, "$R/other.zip")
        let both =
            "2 files of the archive are not restored, since they are in no known place; the first is README.txt"
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == both)
        // As before, an app's archive without media leaves the media alone.
        try sandbox.sh(
            Self.change
                + """
                cd $R; backupfs export A --json -o export.json --store $S >/dev/null; zip -q text.zip export.json README.txt
                backupfs restore text.zip --yes --store $S >/dev/null
                """)
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == warning)
        #expect(try sandbox.sh(Self.state) == "old\nNEW")
    }
}
