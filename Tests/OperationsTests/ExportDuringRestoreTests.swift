import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// While a restore imports the media, the records are new and the media are old: no file for a user may combine them.
struct ExportDuringRestoreTests {
    private static let points = ["restore.committed", "restore.file-brought-in", "restore.media-published"]

    /// A diary with the backup `old`; in the current data, the first record and its photo say `changed`.
    private static func makeSandbox() throws -> (Sandbox, Store) {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "update photos set caption = 'old' where id = 1"; printf old > $S/app/photos/one.jpg
            printf old > $S/app/photos/2024/two.jpg; backupfs backup --label old --store $S
            sqlite3 $S/app/database.sqlite "update photos set caption = 'changed' where id = 1"
            printf changed > $S/app/photos/one.jpg; printf changed > $S/app/photos/2024/two.jpg
            """)
        return (sandbox, store)
    }

    /// In a script, waits until a program has reached its fault point.
    private static func reached(_ name: String) -> String {
        "wait_until [ -e $R/\(name).reached ]"
    }

    /// The caption and both photos of an archive.
    private static let held =
        "unzip -p $R/live.zip export.json | jq -r '.photos[0].caption'; unzip -p $R/live.zip media/one.jpg media/2024/two.jpg"

    @Test(arguments: points) func `an export waits for a restore that ends soon, and has what it has brought`(point: String)
        throws
    {
        let (sandbox, _) = try Self.makeSandbox()
        let result = try sandbox.run(
            """
            touch $R/a $R/b
            BACKUPFS_FAULT=\(point)=pause:$R/a backupfs restore old --yes --store $S >$R/told-a 2>&1 & restore=$!
            \(Self.reached("a"))
            BACKUPFS_FAULT=media.waiting=pause:$R/b backupfs export --zip --output $R/live.zip --store $S >$R/told-b 2>&1 & export=$!
            \(Self.reached("b"))
            rm $R/a; wait $restore; echo restore $?; rm $R/b; wait $export; echo export $?
            """)
        #expect(result.output == "restore 0\nexport 0\n", "\(result)")
        #expect(try sandbox.sh(Self.held) == "old\noldold")
    }

    @Test func `an export does not wait for ever`() throws {
        let (sandbox, _) = try Self.makeSandbox()
        let result = try sandbox.run(
            """
            touch $R/a; BACKUPFS_FAULT=restore.committed=pause:$R/a backupfs restore old --yes --store $S >$R/told-a 2>&1 & restore=$!
            \(Self.reached("a"))
            for form in --zip --json "--csv $R/csv"; do
              backupfs export $form $([ "${form% *}" = --csv ] || echo --output $R/live.zip) --store $S 2>$R/told-b & pids="${pids-} $!"
            done
            for pid in $pids; do wait $pid; echo export $?; done
            ls $R/live.zip $R/csv 2>/dev/null; cat $R/told-b
            # A backup is what it was.
            backupfs export old --zip --output $R/live.zip --store $S >/dev/null; echo backup $?
            rm $R/a; wait $restore; echo restore $?
            """)
        #expect(result.output.hasPrefix("export 11\nexport 11\nexport 11\n"), "\(result)")
        #expect(result.output.contains("a restore into the media folder is under way"), "\(result)")
        #expect(result.output.hasSuffix("backup 0\nrestore 0\n"), "\(result)")
    }

    /// The lock on the media is released when its process ends.
    @Test(arguments: points) func `an export ends a restore that died, and has what it has brought`(point: String) throws {
        let (sandbox, _) = try Self.makeSandbox()
        let died = try sandbox.run("BACKUPFS_FAULT=\(point) backupfs restore old --yes --store $S")
        #expect(died.exitCode != 0)
        try sandbox.sh("backupfs export --zip --output $R/live.zip --store $S")
        #expect(try sandbox.sh(Self.held) == "old\noldold")
    }

    @Test func `a restore's commands may export what is there before it and after it`() throws {
        let (sandbox, _) = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs config set before-restore "$R/bin/backupfs export --zip --output $R/before.zip --store $S" --store $S
            backupfs config set after-restore "$R/bin/backupfs export --zip --output $R/live.zip --store $S" --store $S
            backupfs restore old --yes --store $S
            """)
        #expect(try sandbox.sh(Self.held) == "old\noldold")
        #expect(try sandbox.sh("unzip -p $R/before.zip media/one.jpg media/2024/two.jpg") == "changedchanged")
    }

    /// A program that opened the folder before the restore began keeps its view.
    @Test(arguments: points) func `a live archive does not open during a restore, and what is listed does not wait`(point: String)
        throws
    {
        let (sandbox, store) = try Self.makeSandbox()
        let live = try LiveData(store: store)
        let before = try #require(try live.view().entry(at: ["archive.tar"]))
        try sandbox.sh("touch $R/a")
        let restored = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            _ = try? sandbox.run("BACKUPFS_FAULT=\(point)=pause:$R/a backupfs restore old --yes --store $S >$R/told 2>&1")
            restored.signal()
        }
        try sandbox.sh(Self.reached("a"))
        // However it was looked up, and whenever.
        for name in ["archive.tar", "archive.zip", "SHA256SUMS"] as [FileName] {
            let entry = try #require(try live.view().entry(at: [name]))
            #expect(failure { _ = try entry.content.table() }?.code == .busy, "\(name)")
        }
        #expect(failure { _ = try before.content.table() }?.code == .busy)
        #expect(try live.view().children(of: [])?.contains { $0.name == "archive.zip" } == true)
        try sandbox.sh("rm $R/a")
        restored.wait()
        // The one looked up earlier has other records than the media folder now matches.
        #expect(failure { _ = try before.content.table() }?.code == .busy)
        let table = try #require(try live.view().entry(at: ["archive.tar"])).content.table()
        var bytes = [UInt8](repeating: 0, count: Int(table.size))
        _ = try bytes.withUnsafeMutableBytes { try store.repository.read(table, at: 0, into: $0) }
        try Data(bytes).write(to: URL(fileURLWithPath: sandbox("live.tar")))
        #expect(
            try sandbox.sh(
                "cd $R; tar xOf live.tar export.json | jq -r '.photos[0].caption'; tar xOf live.tar media/one.jpg media/2024/two.jpg"
            )
                == "old\noldold")
    }
}
