import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

/// The program dies, or its disk fails, at every fault point in the sources: afterwards the data is exactly the old or exactly
/// the new, and nothing is left behind.
struct CrashTests {
    /// Every point in the sources; the first word is its operation.
    static let points: [String] = {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Sources")
            .standardizedFileURL
        var points: Set<String> = []
        for case let file as URL in FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil) ?? .init() {
            guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
            for match in text.matches(of: /FaultInjection\.reached\("([a-z.-]+)"\)/) { points.insert(String(match.1)) }
        }
        return points.sorted()
    }()

    /// Points that only a restore that adds to existing data passes; `MergeCrashTests` checks that it does.
    static let mergingPoints = ["restore.records-matched", "restore.file-published"]

    /// Points that only a restore that replaces existing data passes.
    static let replacingPoints = [
        "restore.probe-file-moved", "restore.probes-moved", "restore.folder-tried", "restore.media-linked",
        "restore.rows-deleted",
        "restore.file-taken-out", "restore.media-emptied", "restore.file-brought-in",
    ]

    /// A store with a backup named "first", and different records and photos since.
    private struct Template {
        let sandbox: Sandbox
        let old: String
        /// The result of restoring "first".
        let new: String

        init() throws {
            CrashTests.cleaning
            sandbox = try Sandbox()
            _ = try sandbox.makeDiary()
            try sandbox.sh(
                """
                # Files that stay as they are.
                cd $S/app/photos; printf same > same.png; mkdir both; printf same > both/same.png; printf changed > both/changed.png
                backupfs backup --store $S --label first >/dev/null
                cd $S/app/photos; printf 'changed later' > both/changed.png; rm -r 2024; printf other > one.jpg; printf four > four.jpg; ln -s four.jpg link; mkdir own; printf own > own/o.jpg; touch -d 2025-01-01 *.jpg
                sqlite3 $S/app/database.sqlite "delete from photos where id > 1; insert into photos values (4,'four.jpg','new')"
                """)
            old = try sandbox.sh(PhotoDiary.describe)
            let other = try Sandbox()
            try other.sh("cp -a '\(sandbox.storePath)' $S; backupfs restore first --yes --store $S >/dev/null")
            new = try other.sh(PhotoDiary.describe)
            #expect(try other.sh(PhotoDiary.leftovers) == "")
            #expect(try other.sh("ls -A $S/repository/snapshots | wc -l") == "2")
        }

        /// All its parts are in the store, and its paths are relative, so a copy works as well.
        func copy() throws -> Sandbox {
            let copy = try Sandbox()
            try copy.sh("cp -a '\(sandbox.storePath)' $S")
            return copy
        }
    }

    private static let template = Result { try Template() }

    /// The template exists as long as the program.
    private static let cleaning: Void = {
        _ = atexit { if let template = try? CrashTests.template.get() { try? FileSystem.removeTree(template.sandbox.path) } }
    }()

    /// Opens the store, which recovers it, and returns which state it is in.
    private static func outcome(_ sandbox: Sandbox, _ template: Template, _ fault: String) throws -> String {
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "", "\(fault)")
        let state = try sandbox.sh(PhotoDiary.describe)
        if state == template.new { return "new" }
        if state == template.old { return "old" }
        return state
    }

    @Test func `the points there are`() throws {
        print(
            "fault points: \(Self.points.count) points, each killed and failing in a restore: \(Self.points.count * 2) runs; \(Self.points)"
        )
        #expect(Self.points.count >= 18)
        let template = try Self.template.get()
        #expect(template.old != template.new)
        #expect(template.old.contains("four.jpg") && !template.new.contains("four.jpg"))
    }

    @Test(arguments: Rounds.part(of: points.flatMap { [$0, $0 + "=fail"] }, oneIn: 8))
    func `RST-19, SAF-01, CON-04: a restore at every point`(fault: String) throws {
        let template = try Self.template.get()
        let sandbox = try template.copy()
        let result = try sandbox.run("backupfs restore first --yes --store $S", ["BACKUPFS_FAULT": fault])
        let state = try Self.outcome(sandbox, template, fault)
        #expect(["old", "new"].contains(state), "\(fault): neither the old state nor the new one")
        if result.exitCode == 0 {
            #expect(state == "new", "\(fault): told as done, but nothing happened")
        } else if !fault.hasSuffix("=fail") {
            #expect(result.exitCode == 137, "\(fault): \(result.errors)")
        } else {
            #expect(result.exitCode == 1)
            #expect(state == "old", "\(fault): told as failed, but it happened")
            #expect(try sandbox.sh("grep '\"result\"' $S/restore/last.json") == #"  "result": "failed","#)
        }
        // A retry does what was requested, and the backups are complete.
        try sandbox.sh("backupfs restore first --yes --store $S >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.describe) == template.new, "\(fault): the second try")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "", "\(fault): after the second try")
        try sandbox.sh("backupfs export first --zip -o $R/first.zip --store $S >/dev/null; unzip -tqq $R/first.zip")
    }

    @Test func `RST-01: each point of a restore is passed by a restore`() throws {
        let template = try Self.template.get()
        for point in Self.points where point.hasPrefix("restore.") && !Self.mergingPoints.contains(point) {
            let sandbox = try template.copy()
            let result = try sandbox.run("backupfs restore first --yes --store $S", ["BACKUPFS_FAULT": point])
            #expect(result.exitCode != 0, "\(point) is never reached")
        }
    }

    @Test(
        arguments: Rounds.part(
            of: points.filter { $0.hasPrefix("backup.") }.flatMap { point in
                ["", ":2", "=fail", ":2=fail"].map { (point, $0) }
            }, oneIn: 5))
    func `a backup at every point`(point: String, action: String) throws {
        let template = try Self.template.get()
        let sandbox = try template.copy()
        let fault = point + action
        let first = try sandbox.sh("backupfs export first --zip -o - --store $S | sha256sum")
        let result = try sandbox.run("backupfs backup --label second --store $S", ["BACKUPFS_FAULT": fault])
        #expect(try Self.outcome(sandbox, template, fault) == "old")
        let names = try sandbox.sh(
            "backupfs snapshots --json --store $S | grep -o '\"name\": *\"[a-z]*\"' | grep -o '[a-z]*\"$' | tr -d '\"\\n'")
        #expect(names == "first" || names == "firstsecond", "\(fault): \(names)")
        if result.exitCode == 0 { #expect(names == "firstsecond") }
        // If the disk fails after the backup is visible, it is reported as failed but exists.
        if action == "=fail", result.exitCode != 0, point != "backup.published" { #expect(names == "first", "\(fault)") }
        #expect(try sandbox.sh("backupfs export first --zip -o - --store $S | sha256sum") == first)
        try sandbox.sh(
            """
            backupfs backup --label third --store $S >/dev/null
            # Drafts of the crashed backup are swept by the next one.
            find $S/repository/tmp -type f | (! grep .)
            for name in third\(names == "first" ? "" : " second"); do
              backupfs export $name --zip -o $R/$name.zip --store $S >/dev/null; mkdir $R/$name; cd $R/$name; unzip -qq ../$name.zip
              sha256sum --quiet --strict -c SHA256SUMS
            done
            """)
    }

    @Test(arguments: ["forget.removed", "forget.removed:2", "forget.removed=fail"])
    func `forgetting dies between two backups`(fault: String) throws {
        let template = try Self.template.get()
        let sandbox = try template.copy()
        try sandbox.sh("for name in second third fourth; do backupfs backup --label $name --store $S >/dev/null; done")
        let list =
            "backupfs snapshots --json --store $S | grep -o '\"name\": *\"[a-z]*\"' | grep -o '[a-z]*\"$' | tr '\"\\n' '. '"
        let before = try sandbox.sh(list)
        let result = try sandbox.run("backupfs forget --keep-last 1 --yes --store $S", ["BACKUPFS_FAULT": fault])
        #expect(result.exitCode != 0)
        // What was removed is gone, and all others are unchanged.
        let after = try sandbox.sh(list)
        let removed = fault.hasSuffix(":2") ? 2 : 1
        #expect(after.count { $0 == "." } == before.count { $0 == "." } - removed, "\(before), then \(after)")
        #expect(after.contains("fourth"))
        #expect(try Self.outcome(sandbox, template, fault) == "old")
        try sandbox.sh(
            "backupfs check --read-data --store $S >/dev/null; backupfs forget --keep-last 1 --yes --store $S >/dev/null")
        #expect(try sandbox.sh(list).contains("fourth"))
        #expect(try sandbox.sh(list).count { $0 == "." } == 1)
        try sandbox.sh("backupfs export fourth --zip -o $R/fourth.zip --store $S >/dev/null; unzip -tqq $R/fourth.zip")
    }

    @Test func `a third passing that never comes, and an operation that waits`() throws {
        let sandbox = try Self.template.get().copy()
        #expect(try sandbox.run("backupfs backup --store $S", ["BACKUPFS_FAULT": "backup.published:3"]).exitCode == 0)
        let script = """
            touch $R/wait
            backupfs backup --label slow --store $S & job=$!
            wait_until [ -e $S/operation.json ]
            backupfs backup --label other --store $S 2>$R/why; echo "refused $?"
            backupfs restore first --yes --store $S 2>/dev/null; echo "refused $?"
            backupfs status --json --store $S | grep '"state"'
            rm $R/wait; wait $job; echo "ended $?"
            """
        let result = try sandbox.run(script, ["BACKUPFS_FAULT": "backup.published=pause:\(sandbox("wait"))"])
        #expect(result.output == "refused 11\nrefused 11\n  \"state\": \"running\",\nslow\nended 0\n", "\(result.errors)")
        #expect(try sandbox.sh("cat $R/why").contains("backup"))
    }
}
