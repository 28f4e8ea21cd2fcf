import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

/// The program dies, or its disk fails, at every fault point while it adds to existing data: afterwards everything is added, or
/// nothing.
struct MergeCrashTests {
    /// A store with photos, and an archive with the same ones, others of the same names, and new ones in new folders.
    private struct Template {
        let sandbox: Sandbox
        let old: String
        let new: String
        /// The merge that the faults interrupt.
        static let restore = "backupfs restore $R/other.zip --strategy merge --yes --store $S"

        init() throws {
            MergeCrashTests.cleaning
            sandbox = try Sandbox()
            try sandbox.write(PhotoDiary.definition(identity: "file"), to: "diary.yaml")
            try sandbox.sh(
                """
                backupfs init --store $S --app $R/diary.yaml
                \(PhotoDiary.fill)
                mkdir -p $R/media/2024/winter $R/media/2025; cd $R/media; printf one > one.jpg; printf other > 2024/two.jpg
                printf four > 2024/winter/four.jpg; printf five > 2025/five.jpg; printf 6 > six.jpg; touch -d '2024-09-01' six.jpg */*.jpg */*/*.jpg
                """)
            try sandbox.write(
                """
                {"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": [
                {"id": 1, "file": "six.jpg"}, {"id": 2, "file": "2024/two.jpg", "caption": "another"},
                {"id": 7, "file": "one.jpg", "caption": "changed"}, {"id": 8, "file": "2024/winter/four.jpg"}]}
                """, to: "export.json")
            try sandbox.sh("cd $R; zip -qr other.zip export.json media; rm -r media export.json")
            old = try sandbox.sh(PhotoDiary.describe)
            let other = try Self.copy(of: sandbox)
            try other.sh("\(Self.restore) >/dev/null")
            new = try other.sh(PhotoDiary.describe)
            #expect(try other.sh(PhotoDiary.leftovers) == "")
        }

        static func copy(of sandbox: Sandbox) throws -> Sandbox {
            let copy = try Sandbox()
            try copy.sh("cp -a '\(sandbox.storePath)' $S; cp '\(sandbox("other.zip"))' $R")
            return copy
        }
    }

    private static let template = Result { try Template() }

    /// The template exists as long as the program.
    private static let cleaning: Void = {
        _ = atexit { if let template = try? MergeCrashTests.template.get() { try? FileSystem.removeTree(template.sandbox.path) } }
    }()

    private static let points =
        CrashTests.points.filter { $0.hasPrefix("restore.") } + [
            "restore.file-published:2", "restore.file-published:3", "restore.file-published:4",
        ]

    @Test func `the states are two`() throws {
        let template = try Self.template.get()
        #expect(template.old != template.new)
        #expect(
            template.new.contains("2024/two-2.jpg") && template.new.contains("five.jpg") && !template.old.contains("five.jpg"))
        let sandbox = try Template.copy(of: template.sandbox)
        try sandbox.sh("\(Template.restore) >/dev/null")
        #expect(
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'select * from photos'") == """
                1|one.jpg|changed
                2|2024/two.jpg|
                3|2024/summer/three.jpg|sea
                8|2024/winter/four.jpg|
                9|six.jpg|
                10|2024/two-2.jpg|another
                """)
        #expect(
            try sandbox.sh(
                "jq -c '[.strategy, .outcome.photos, .photosImported, .photosSkipped, .mediaFiles, .mediaFilesRestored]' $S/restore/last.json"
            )
                == #"["merge",{"added":3,"updated":1,"skipped":0,"kept":0,"removed":0},3,0,{"added":3,"renamed":1,"alreadyThere":1,"skipped":0},4]"#
        )
    }

    @Test(arguments: Rounds.part(of: points.flatMap { [($0, ""), ($0, "=fail")] }, oneIn: 8))
    func `a merge at every point`(point: String, action: String) throws {
        let template = try Self.template.get()
        let sandbox = try Template.copy(of: template.sandbox)
        let fault = point + action
        let result = try sandbox.run(Template.restore, ["BACKUPFS_FAULT": fault])
        // Points that only other restores pass do not affect a merge.
        let isPassed = !CrashTests.replacingPoints.contains(point)
        #expect(
            (result.exitCode != 0) == (isPassed && (action == "" || result.errors.contains("injected"))), "\(fault): \(result)")
        if action == "", isPassed { #expect(result.exitCode == 137, "\(fault) is never reached") }
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "", "\(fault)")
        let state = try sandbox.sh(PhotoDiary.describe)
        #expect([template.old, template.new].contains(state), "\(fault): neither the old state nor the new one: \(state)")
        if result.exitCode == 0 { #expect(state == template.new, "\(fault)") }
        if action == "=fail", result.exitCode != 0 { #expect(state == template.old, "\(fault): told as failed, but it happened") }
        if action == "", isPassed, state == template.new, point != "restore.journal-removed" {
            #expect(
                try sandbox.sh("jq -c '[.result, .strategy]' $S/restore/last.json") == #"["completed","merge"]"#, "\(fault)")
        }
        // A retry does what was requested, once.
        try sandbox.sh("\(Template.restore) >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.describe) == template.new, "\(fault): the second try")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "", "\(fault): after the second try")
    }

    @Test func `killed again while it recovers`() throws {
        let template = try Self.template.get()
        let sandbox = try Template.copy(of: template.sandbox)
        _ = try sandbox.run(Template.restore, ["BACKUPFS_FAULT": "restore.file-published"])
        for passing in ["restore.file-published:2", "restore.file-published:2", "restore.file-published"] {
            _ = try sandbox.run("backupfs status --store $S", ["BACKUPFS_FAULT": passing])
        }
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.describe) == template.new)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }
}
