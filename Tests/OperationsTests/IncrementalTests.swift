import BackupCore
import BackupRepository
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The second and later backups: what is read, what is stored, and that nothing is missed.
struct IncrementalTests {
    /// Backs up.
    /// - Returns: the bytes of photos that were read.
    private static func backUp(_ store: Store, _ label: String) throws -> UInt64 {
        try BackupOperation(store: store).run(label: label, tag: nil, progress: nil).mediaBytesRead
    }

    /// A diary with 60 old photos in 3 folders, one of them large.
    private static func makeAgedDiary(_ sandbox: Sandbox) throws -> Store {
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos
            for d in a b c; do mkdir $d; for i in $(seq 1 20); do head -c $((i * 1000)) /dev/urandom > $d/$i.jpg; done; done
            head -c 9000000 /dev/urandom > b/large.mov
            wait_settled .
            """)
        return store
    }

    private static let restored = """
        rm -f $R/x.zip; backupfs export --store $S $NAME --zip --output $R/x.zip >/dev/null
        rm -rf $R/x; mkdir $R/x; cd $R/x; unzip -q $R/x.zip; diff -r media $S/app/photos && echo same
        """

    @Test func `CHK-05: what did not change is not read, and what changed in any way is`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeAgedDiary(sandbox)
        #expect(try Self.backUp(store, "one") == 3 * 210_000 + 9_000_000 + 11)
        #expect(try Self.backUp(store, "two") == 0)
        func unsettledBytes(_ name: String) throws -> UInt64 {
            let root = try store.repository.rootDirectory(of: store.snapshot(named: name))
            let media = try store.repository.directory(of: #require(root.entry(named: "media")))
            let folder = try store.repository.directory(of: #require(media.entry(named: "a")))
            return folder.entries.reduce(0) { $0 + ($1.sourceIdentity == nil ? $1.size : 0) }
        }
        let start = SystemClock.monotonicNanoseconds()
        // Same size and time, other content: only the change time shows it.
        try sandbox.sh(
            """
            cd $S/app/photos; touch -r a/5.jpg $R/time; printf XXXX | dd of=a/5.jpg bs=1 seek=100 conv=notrunc status=none
            touch -r $R/time a/5.jpg
            """)
        #expect(try Self.backUp(store, "three") == 5_000)
        // Of a photo that changed within two seconds before, no identity is stored, and it is read again.
        let again = try unsettledBytes("three")
        #expect(SystemClock.monotonicNanoseconds() - start < 1_900_000_000 ? again == 5_000 : again == 0 || again == 5_000)
        // Another file in its place, with the same size and time.
        try sandbox.sh("cd $S/app/photos; head -c 7000 /dev/urandom > new; touch -r a/7.jpg new; mv new a/7.jpg")
        #expect(try Self.backUp(store, "four") == 7_000 + again)
        #expect(try sandbox.sh(Self.restored, ["NAME": "four"]) == "same")
        #expect(try Self.backUp(store, "five") == unsettledBytes("four"))
        // A renamed photo and a copy take no space beyond the folder's listing.
        try sandbox.sh(
            "cd $S/app/photos; mv b/large.mov b/renamed.mov; cp b/renamed.mov c/copy.mov; rm a/1.jpg; chmod 600 a/2.jpg; wait_settled ."
        )
        let before = try store.repository.totals().packByteCount
        #expect(try Self.backUp(store, "six") == 2 * 9_000_000 + 2_000 + unsettledBytes("five"))
        #expect(try store.repository.totals().packByteCount - before < 40_000)
        #expect(try sandbox.sh(Self.restored, ["NAME": "six"]) == "same")
        #expect(try Self.backUp(store, "seven") == 0)
    }

    @Test func `an unchanged folder is taken as it is, and the next change in it is seen`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeAgedDiary(sandbox)
        _ = try Self.backUp(store, "one")
        _ = try Self.backUp(store, "two")
        func folder(_ name: String, _ snapshot: String) throws -> FileContent {
            let root = try store.repository.rootDirectory(of: store.snapshot(named: snapshot))
            let media = try store.repository.directory(of: try #require(root.entry(named: "media")))
            return try #require(media.entry(named: FileName(name))).content
        }
        for name in ["a", "b", "c"] { #expect(try folder(name, "one") == folder(name, "two")) }
        try sandbox.sh("cd $S/app/photos; printf more >> b/3.jpg")
        _ = try Self.backUp(store, "three")
        #expect(try folder("a", "one") == folder("a", "three") && folder("b", "one") != folder("b", "three"))
        #expect(try sandbox.sh(Self.restored, ["NAME": "three"]) == "same")
    }

    /// A missing pack loses nothing that can still be read from the app.
    @Test func `what is lost in the repository is stored again`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeAgedDiary(sandbox)
        _ = try Self.backUp(store, "one")
        try sandbox.sh("find $S/repository/packs -name '*.pack' -delete")
        // All but the three tiny ones, which are stored in the listing.
        #expect(try Self.backUp(store, "two") == 3 * 210_000 + 9_000_000)
        #expect(try sandbox.sh(Self.restored, ["NAME": "two"]) == "same")
        #expect(try Self.backUp(store, "three") == 0)
    }

    /// Packs of one kind only: listings without photos, and photos without listings.
    @Test(arguments: ["00", "01"]) func `what is lost in part is stored again`(kind: String) throws {
        let sandbox = try Sandbox()
        let store = try Self.makeAgedDiary(sandbox)
        _ = try Self.backUp(store, "one")
        // The byte after magic and version is the pack's kind (repository-format.md).
        try sandbox.sh(
            """
            for p in $(find $S/repository/packs -name '*.pack'); do
              [ "$(od -An -tx1 -j10 -N1 $p | tr -d ' ')" = $KIND ] && rm $p || true
            done
            """, ["KIND": kind])
        _ = try Self.backUp(store, "two")
        #expect(try sandbox.sh(Self.restored, ["NAME": "two"]) == "same")
    }

    @Test func `a database in the photo folder is stored by its pages`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            """
            sqlite3 $S/app/photos/index.db "create table t(id integer primary key, x text);
              with recursive n(i) as (select 1 union all select i+1 from n where i<60000)
              insert into t select i, 'row number ' || i || hex(randomblob(20)) from n"
            """)
        _ = try Self.backUp(store, "one")
        let before = try store.repository.totals().packByteCount
        try sandbox.sh("sqlite3 $S/app/photos/index.db \"update t set x = 'changed' || x where id % 6000 = 0\"")
        _ = try Self.backUp(store, "two")
        #expect(try store.repository.totals().packByteCount - before < 60_000)
        #expect(try sandbox.sh(Self.restored, ["NAME": "two"]) == "same")
    }

    @Test func `an unchanged database is not rendered again, and every change of it is`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample >/dev/null")
        let store = try Store.open(sandbox.storePath)
        func backUp(_ name: String) throws { _ = try Self.backUp(store, name) }
        func entry(_ path: [FileName], _ name: String) throws -> TreeEntry {
            var directory = try store.repository.rootDirectory(of: store.snapshot(named: name))
            for part in path.dropLast() {
                directory = try store.repository.directory(of: try #require(directory.entry(named: part)))
            }
            return try #require(directory.entry(named: path.last ?? ""))
        }
        // The first one may close the database's log, which changes the files.
        try backUp("one")
        // A database that was written just now may change without a trace.
        try sandbox.sh("touch -d '1 minute ago' $S/app/database.sqlite*")
        try backUp("two")
        // Rendering is impossible without the spool.
        try sandbox.sh("wait_second; mv $S/spool $S/away; touch $S/spool")
        try backUp("three")
        try sandbox.sh("rm $S/spool; mv $S/away $S/spool")
        let state = store.repository.snapshots().map { $0.record.attributes["database-state"] }
        #expect(state[1] != nil && state[1] == state[2])
        // The export contains its own time; the rest is the same.
        let exports = try ["two", "three"].map { name in
            String(decoding: try store.file("export.json", in: name), as: UTF8.self).split(separator: "\n").map(String.init)
        }
        let different = zip(exports[0], exports[1]).filter { $0 != $1 }
        #expect(different.count == 1 && different[0].0.contains("\"createdAt\":") && exports[0].count == exports[1].count)
        for path: [FileName] in [["export.json"], ["database.sqlite"], ["data", "expenses.json"]] {
            let bytes = try store.repository.bytes(of: entry(path, "three").content, limitBytes: 1 << 24)
            try Data(bytes).write(to: URL(fileURLWithPath: sandbox("file")))
            let checksums = try #require(try store.repository.checksums(of: entry(path, "three")))
            #expect(try sandbox.sh("sha256sum < $R/file | cut -d' ' -f1") == checksums.sha256.hexadecimal)
            #expect(try sandbox.sh("md5sum < $R/file | cut -d' ' -f1") == checksums.md5.hexadecimal)
            #expect(try sandbox.sh("gzip -c $R/file | tail -c8 | od -An -tx4 -N4 | tr -d ' '") == checksums.crc32Hexadecimal)
        }
        #expect(try entry(["database.sqlite"], "two").content == entry(["database.sqlite"], "three").content)
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"update expenses set notes = 'seen' where id = 7\"")
        try backUp("four")
        #expect(String(decoding: try store.file("export.json", in: "four"), as: UTF8.self).contains("\"seen\""))
        // In the write-ahead log only, while a program keeps the database open.
        try sandbox.sh(
            """
            python3 - <<'END'
            import os, sqlite3, subprocess, time
            path = os.environ["S"] + "/app/database.sqlite"
            holder = sqlite3.connect(path); holder.execute("select count(*) from cars").fetchall()
            for name, value in [("five", "in the log"), ("six", "in the log again")]:
                time.sleep(0.1)
                writer = sqlite3.connect(path); writer.execute("update expenses set notes = ? where id = 8", (value,))
                writer.commit()
                subprocess.run(["backupfs", "backup", "--label", name, "--store", os.environ["S"]], check=True, stdout=subprocess.DEVNULL)
            END
            for n in five six; do backupfs export $n --store $S --json --output - | jq -c '[.expenses[] | select(.id == 8) | .notes]'; done > $R/seen
            """)
        #expect(try sandbox.sh("cat $R/seen") == "[\"in the log\"]\n[\"in the log again\"]")
    }

    /// To look for it takes a read of the whole database.
    @Test func `data that exports lack is looked for once for each state of the database, and named by each backup`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample >/dev/null")
        let store = try Store.open(sandbox.storePath)
        let changes = [
            "alter table expenses add column extra text", "update expenses set extra = 'x' where id = 7",
            "update expenses set extra = null",
        ]
        for (number, change) in changes.enumerated() {
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"\(change)\"; touch -d '\(9 - number) minutes ago' $S/app/database.sqlite*")
            // The second one takes the records over.
            for name in ["a\(number)", "b\(number)"] {
                let result = try BackupOperation(store: store).run(label: name, tag: nil, progress: nil)
                let warnings = result.warnings.filter { $0.kind == .unexported }
                #expect(warnings.count == (number == 1 ? 1 : 0), "\(name)")
                let attributes = try store.snapshot(named: name).record.attributes
                #expect(attributes["all-exported"] == (number == 1 ? nil : "1"), "\(name)")
                #expect(try store.snapshot(named: name).publicAttributes["all-exported"] == nil)
            }
            let states = store.repository.snapshots().suffix(2).map { $0.record.attributes["database-state"] }
            #expect(states[0] != nil && states[0] == states[1])
        }
    }

    /// Beyond the 10,000 listed paths, folders are counted by their totals; `find` counts them, too.
    @Test func `changes are counted exactly however many there are`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; for i in 1 2 3 4 5 6; do mkdir -p many/$i/in; (cd many/$i; seq 1900 | xargs touch; seq 100 | sed 's/$/.jpg/' | (cd in; xargs touch)); done
            ln -s one.jpg many/6/in/link; find . -not -type d | wc -l > $R/count
            """)
        let changes = """
            import json, sys
            files = json.load(open(sys.argv[1]))["files"]
            print(*(f"{files[kind]} {len(files[kind + 'Paths'])}" for kind in ("added", "changed", "removed")))
            """
        try sandbox.write(changes, to: "changes.py")
        func told(_ name: String) throws -> String {
            try sandbox.sh(
                "backupfs backup --label \(name) --store $S >/dev/null; backupfs restore \(name) --target $R/\(name) --store $S >/dev/null; python3 $R/changes.py $R/\(name)/changes.json"
            )
        }
        let count = try sandbox.sh("cat $R/count")
        #expect(count == "12004")
        #expect(try told("first") == "12004 10000 0 0 0 0")
        #expect(try told("same") == "0 0 0 0 0 0")
        try sandbox.sh("rm -r $S/app/photos/many")
        #expect(try told("gone") == "0 0 0 0 12001 10000")
    }
}
