import BackupCore
import BackupRepository
import Formats
import Foundation
import Glibc
import Restore
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Operations
@testable import SnapshotFormats

/// The content of a backup, and its description of itself.
struct BackupTests {
    private static func backUp(_ store: Store, _ label: String? = nil, tag: String? = nil) throws -> BackupResult {
        try BackupOperation(store: store).run(label: label, tag: tag, progress: nil)
    }

    /// The numbers of `changes.json`, one line for each kind of thing.
    private static func changes(_ store: Store, _ name: String) throws -> [String] {
        let document = try json(store.file("changes.json", in: name))
        let records = try #require((document["records"] as? [String: Any])?["photos"] as? [String: Any])
        let files = try #require(document["files"] as? [String: Any])
        return [(records, "Keys"), (files, "Paths")].map { part, suffix in
            ["added", "changed", "removed"].map { kind in
                "\(part[kind] ?? "none") \(((part[kind + suffix] as? [Any]) ?? ["none"]).map { "\($0)" })"
            }.joined(separator: " | ")
        }
    }

    @Test func `three generations, and what changed in each`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        _ = try Self.backUp(store, "one")
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "update photos set caption='x' where id=1; delete from photos where id=2; insert into photos values (9,'n.jpg','n')"
            cd $S/app/photos; printf ONE > one.jpg; rm 2024/two.jpg; printf n > n.jpg; mkdir empty; ln -s n.jpg link; touch -d 2001-01-01 2024/summer/three.jpg
            """)
        _ = try Self.backUp(store, "two")
        _ = try Self.backUp(store, "three")
        try sandbox.sh("cd $S/app/photos; ln -sfn one.jpg link; rm n.jpg; mkdir n.jpg; printf in > n.jpg/in; rmdir empty")
        _ = try Self.backUp(store, "four")
        #expect(
            try Self.changes(store, "one") == [
                #"3 ["1", "2", "3"] | 0 [] | 0 []"#, #"3 ["2024/summer/three.jpg", "2024/two.jpg", "one.jpg"] | 0 [] | 0 []"#,
            ])
        #expect(
            try Self.changes(store, "two") == [
                #"1 ["9"] | 1 ["1"] | 1 ["2"]"#, #"2 ["link", "n.jpg"] | 1 ["one.jpg"] | 1 ["2024/two.jpg"]"#,
            ])
        #expect(try Self.changes(store, "three") == ["0 [] | 0 [] | 0 []", "0 [] | 0 [] | 0 []"])
        #expect(try Self.changes(store, "four") == ["0 [] | 0 [] | 0 []", #"1 ["n.jpg/in"] | 1 ["link"] | 1 ["n.jpg"]"#])
        let since = try json(store.file("changes.json", in: "two"))["since"] as? [String: String]
        #expect(since == ["id": store.repository.snapshots()[0].id.hexadecimal, "name": "one"])
        #expect(try json(store.file("changes.json", in: "one"))["since"] is NSNull)
    }

    @Test(arguments: [false, true])
    func `the sizes of the archives are known from the moment of the backup`(hasLayout: Bool) throws {
        let sandbox = try Sandbox()
        let layout = "archiveLayout:\n  - {from: export.json, to: diary.json}\n  - {from: media/, to: photos/}\n"
        try sandbox.write(PhotoDiary.definition + (hasLayout ? layout : ""), to: "diary.yaml")
        let store = try StoreCreation(app: sandbox("diary.yaml")).create(at: sandbox.storePath)
        try sandbox.sh(PhotoDiary.fill)
        try sandbox.sh(
            "cd $S/app/photos; ln -s one.jpg link; ln -s $'\\xff' odd; printf o > $'\\xff\\xfe'; : > empty; mkdir none")
        let snapshot = try Self.backUp(store, "one").snapshot
        var members: [ArchiveMember] = []
        let contents = StoredContents(try store.repository.rootDirectory(of: snapshot), in: store.repository)
        let plan = ArchivePlan(snapshot.record.archiveLayout, time: snapshot.creationTime)
        try SnapshotArchive.visit(contents, plan) { member, _ in members.append(member) }
        for format in ArchiveFormat.allCases {
            #expect(
                try ArchiveSizes.size(of: snapshot, format, in: store.repository)
                    == SnapshotArchive.table(of: snapshot, format, in: store.repository).size, "\(format)")
        }
        let size = try String(TARLayout.table(for: members).size)
        #expect(snapshot.record.attributes["tar-size"] == size && snapshot.record.attributes["tar-version"] == "1")
        // These are not for users.
        #expect(snapshot.publicAttributes.keys.allSatisfy { !$0.contains("tar") })
        #expect(members.contains { $0.path.elementsEqual("diary.json".utf8) } == hasLayout)
        #expect(members.contains { $0.path.elementsEqual("SHA256SUMS".utf8) } == !hasLayout)

        // A snapshot from before archive.tar existed, and one of a later layout: computed from the folders.
        for (name, changes) in [("old", nil), ("new", "2")] as [(FileName, String?)] {
            var attributes = snapshot.record.attributes.filter { !$0.key.hasPrefix("tar-") }
            if let changes { attributes.merge(["tar-version": changes, "tar-size": "7"]) { $1 } }
            let record = SnapshotRecord(
                kind: .snapshot, name: name, creationTime: snapshot.creationTime, parent: nil, root: snapshot.record.root,
                archiveSizeBytes: snapshot.record.archiveSizeBytes, archiveLayout: snapshot.record.archiveLayout,
                attributes: attributes)
            let other = try store.repository.makeWriter().commit(record)
            #expect(try String(ArchiveSizes.size(of: other, .tar, in: store.repository)) == size)
        }
    }

    @Test func `the manifest says what the backup is`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        _ = try Self.backUp(store, "one")
        let result = try Self.backUp(store, "two", tag: "manual")
        let manifest = try json(store.file("manifest.json", in: "two"))
        #expect(
            manifest.keys.sorted() == [
                "app", "appVersion", "createdAt", "deviceName", "fileCount", "formatVersion", "missing", "name", "parent",
                "recordCount", "records",
                "schemaVersion", "sizeBytes", "tag", "unreadable",
            ])
        #expect(manifest["name"] as? String == "two")
        #expect(manifest["app"] as? String == "photo-diary")
        #expect(manifest["tag"] as? String == "manual")
        #expect(manifest["records"] as? [String: Int] == ["photos": 3])
        #expect(manifest["recordCount"] as? Int == 3)
        #expect((manifest["parent"] as? [String: String])?["name"] == "one")
        #expect(manifest["createdAt"] as? String == ISO8601.format(result.snapshot.creationTime.wholeSeconds))
        // Three photos, the export, its collection, the database, the schema and the changes; the manifest cannot count itself.
        #expect(manifest["fileCount"] as? Int == 8)
        try sandbox.sh("backupfs export two --zip -o $R/two.zip --store $S; mkdir $R/out; cd $R/out; unzip -qq ../two.zip")
        let bytes = try sandbox.sh(
            "cd $R/out; find . -type f ! -name '*SUMS' ! -name manifest.json -printf '%s\\n' | awk '{s+=$1} END {print s}'")
        #expect(manifest["sizeBytes"] as? Int == Int(bytes))
        let attributes = result.snapshot.record.attributes
        #expect(
            attributes["files"] == "9" && attributes["records"] == "3" && attributes["tag"] == "manual"
                && attributes["app"] == "photo-diary")
        #expect(result.unreadable.isEmpty)
    }

    @Test func `what cannot be read is reported, and the rest is backed up`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            "mkfifo $S/app/photos/2024/pipe; mkdir $S/app/photos/closed; printf x > $S/app/photos/closed/x; printf y > $S/app/photos/secret"
        )
        var expected = ["2024/pipe: is neither a file nor a folder nor a link"]
        if geteuid() != 0 {
            try sandbox.sh("chmod 000 $S/app/photos/closed $S/app/photos/secret")
            expected += [
                "closed: could not open: Permission denied", "secret: could not open: Permission denied",
            ]
        }
        let result = try Self.backUp(store, "one")
        #expect(result.unreadable == expected)
        #expect(try json(store.file("manifest.json", in: "one"))["unreadable"] as? [String] == expected)
        let command = try sandbox.run("backupfs backup --label two --store $S")
        #expect(command.exitCode == 3)
        #expect(command.output == "two\n")
        #expect(command.errors.contains("2024/pipe"))
        let listed = try sandbox.sh("backupfs ls two:media/2024 --store $S | awk '{print $NF}' | xargs")
        #expect(listed == "media/2024/summer/ media/2024/summer/three.jpg media/2024/two.jpg")
    }

    /// The backup pauses after it has listed the folder.
    @Test func `what the app deletes meanwhile is left out, without a warning`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let result = try sandbox.sh(
            """
            touch $R/pause; printf 1 > $S/app/photos/gone.jpg; mkdir $S/app/photos/away; printf 2 > $S/app/photos/away/x
            BACKUPFS_FAULT="backup.media-listed=pause:$R/pause" backupfs backup --label one --store $S 2>&1 & backup=$!
            wait_paused $R/pause $backup; rm -r $S/app/photos/gone.jpg $S/app/photos/away $R/pause
            wait $backup; echo "exit $?"; backupfs ls one:media --store $S | awk '{print $NF}' | xargs
            """)
        #expect(
            result
                == "one\nexit 0\nmedia/2024/ media/2024/summer/ media/2024/summer/three.jpg media/2024/two.jpg media/one.jpg")
    }

    @Test func `a file that never stands still is left out rather than torn`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let path = sandbox("store/app/photos/busy.bin")
        try sandbox.sh("head -c 8000000 /dev/zero > $S/app/photos/busy.bin")
        let isRunning = Mutex(true)
        let writer = Thread {
            var value: UInt8 = 0
            while isRunning.withLock({ $0 }) {
                value &+= 1
                if let file = try? OwnedDescriptor.open(path, O_WRONLY) { try? file.writeAll([value]) }
                usleep(2_000)
            }
        }
        writer.start()
        defer { isRunning.withLock { $0 = false } }
        let result = try Self.backUp(store, "one")
        #expect(result.unreadable == ["busy.bin: changed again and again while it was read"])
        #expect(result.snapshot.record.root.totals.fileCount == 9)
    }

    @Test func `a program that sets the old time back is noticed as well`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let path = sandbox("store/app/photos/busy.bin")
        try sandbox.sh("head -c 8000000 /dev/zero > $S/app/photos/busy.bin; touch -d 2020-01-01 $S/app/photos/busy.bin")
        let isRunning = Mutex(true)
        let writer = Thread {
            while isRunning.withLock({ $0 }) {
                if let file = try? OwnedDescriptor.open(path, O_WRONLY) {
                    try? file.setModificationTime(Timestamp(seconds: 1_577_836_800))
                }
                usleep(2_000)
            }
        }
        writer.start()
        defer { isRunning.withLock { $0 = false } }
        #expect(try Self.backUp(store, "one").unreadable == ["busy.bin: changed again and again while it was read"])
    }

    @Test func `a media folder that is gone fails the backup and leaves none`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("mv $S/app/photos $R/gone")
        #expect(failure { _ = try Self.backUp(store, "one") }?.code == .notFound)
        #expect(store.repository.snapshots().isEmpty)
        #expect(try json(StatusDocument(of: store).json.prettyText)["state"] as? String == "idle")
        let error = try json(StatusDocument(of: store).json.prettyText)["lastError"] as? [String: Any]
        #expect(error?["operation"] as? String == "backup")
        #expect(error?["code"] as? String == "notFound")
        try sandbox.sh("mv $R/gone $S/app/photos")
        #expect(try Self.backUp(store, "one").snapshot.name == "one")
    }

    @Test(arguments: ["", ".", "..", ".hidden", "a/b", "latest", String(repeating: "x", count: 256)])
    func `labels that cannot be`(label: String) throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        #expect(failure { _ = try Self.backUp(store, label) }?.code == .invalidArgument)
        #expect(store.repository.snapshots().isEmpty)
    }

    @Test func `a label is used once`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        _ = try Self.backUp(store, "one")
        #expect(failure { _ = try Self.backUp(store, "one") }?.code == .alreadyExists)
        let two = try Self.backUp(store, "two").snapshot
        #expect(failure { try store.renameSnapshot(two, to: "one") }?.code == .alreadyExists)
        try store.renameSnapshot(two, to: "drei")
        #expect(try store.snapshot(named: "latest").name == "drei")
        #expect(failure { _ = try store.snapshot(named: "two") }?.code == .notFound)
        try store.removeSnapshot(two)
        #expect(store.repository.snapshots().map(\.name) == ["one"])
        #expect(try Self.backUp(store, "two").snapshot.name == "two")
    }

    @Test func `while one operation runs, others are refused`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        let one = try Self.backUp(store, "one").snapshot
        let lock = try store.lockForOperation()
        #expect(store.isOperationRunning)
        #expect(failure { _ = try Self.backUp(store, "two") }?.code == .busy)
        #expect(failure { try store.removeSnapshot(one) }?.code == .busy)
        #expect(failure { try store.renameSnapshot(one, to: "x") }?.code == .busy)
        try sandbox.write("", to: "empty")
        #expect(
            failure { _ = try RestoreRunner(store: store).run(ImportSource(file: "\(sandbox.path)/empty"), progress: nil) }?.code
                == .busy)
        #expect(try !FileSystem.exists(store.paths.lastRestoreJSON))
        withExtendedLifetime(lock) {}
    }
}
