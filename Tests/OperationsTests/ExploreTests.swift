import BackupCore
import BackupRepository
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Examining and comparing backups, without the commands.
struct ExploreTests {
    @Test func `fields that changed, as JSON`() throws {
        let long = String(repeating: "ü\"", count: 5_000)
        let old = MemorySource(
            #"[{"id":1,"a":1.50,"b":[1,{"x":null}],"gone":true,"same":"é\u0041","long":"\#(long.replacing("\"", with: "\\\""))"},{"id":2}]"#
        )
        let new = MemorySource(
            #"[{"id":1,"same":"\u00e9A","a":1.5,"b":[1,{"x":false}],"come":"a\tb\u0001","long":"\#(long.replacing("\"", with: "\\\""))y"}]"#
        )
        let keys: Set<JSONKey> = [.integer(1)]
        let changes = RecordDetails.changes(
            .integer(1), from: try RecordDetails(of: keys, in: old, key: "id"),
            to: try RecordDetails(of: keys, in: new, key: "id"))
        let lines = changes.map { change in
            [change.old, change.new].map { $0.map { String(decoding: $0.value.prefix(30), as: UTF8.self) } ?? "none" }
                .joined(separator: " > ")
        }
        #expect(changes.map(\.name) == ["a", "b", "come", "long", "gone"])
        #expect(lines.count == 5)
        guard lines.count == 5 else { return }
        #expect(lines[0] == "1.50 > 1.5" && lines[1] == #"[1,{"x":null}] > [1,{"x":false}]"#)
        #expect(lines[2] == #"none > "a\tb\u0001""# && lines[4] == "true > none")
        let told = try #require(changes[3].new)
        #expect(told.isShortened && told.value == changes[3].old?.value)
        let text = try JSONSerialization.jsonObject(with: Data(told.value), options: .fragmentsAllowed) as? String
        #expect(text == String(long.unicodeScalars.prefix(1_000)) + "…")
    }

    @Test func `collections that are not in order, or in one backup only`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try sandbox.sh(
            #"sqlite3 $S/app/database.sqlite "update photos set id = 20 where id = 1; update photos set caption = 'c'""#)
        _ = try BackupOperation(store: store).run(label: "two", tag: nil, progress: nil)
        let difference = try DifferenceDocument(of: store, from: "one", to: "two", limit: 1)
        #expect(difference.collections.map(\.name) == ["photos"])
        #expect(difference.collections[0].counts == [.added: 1, .changed: 2, .removed: 1])
        #expect(difference.collections[0].changes.map { "\($0.change) \($0.key)" } == ["added 20", "changed 2", "removed 1"])
        #expect(difference.fileCounts == [.changed: 1] && difference.files.map(\.path) == ["database.sqlite"])
        // The live data is rendered into unnamed files.
        _ = try DifferenceDocument(of: store, from: "live", to: "one", limit: 1)
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    /// Only the bytes show a change that kept size and times.
    @Test func `a live file that looks untouched but is another one`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try sandbox.sh("cd $S/app/photos; printf ONE > x; touch -r one.jpg x; mv x one.jpg")
        #expect(try DifferenceDocument(of: store, from: "one", to: "live", limit: 9).files.map(\.path) == ["media/one.jpg"])
        // The same bytes in a new file are not a difference.
        try sandbox.sh("cd $S/app/photos; printf one > x; mv x one.jpg")
        #expect(try DifferenceDocument(of: store, from: "one", to: "live", limit: 9).isEmpty)
    }

    @Test func `a shared folder is found in every backup`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        for name in ["one", "two", "three"] { _ = try BackupOperation(store: store).run(label: name, tag: nil, progress: nil) }
        for (pattern, expected) in [
            (
                "three.jpg",
                ["one media/2024/summer/three.jpg", "two media/2024/summer/three.jpg", "three media/2024/summer/three.jpg"]
            ),
            ("/media/one*", ["one media/one.jpg", "two media/one.jpg", "three media/one.jpg"]), ("summer/*", []), ("2025", []),
        ] {
            var search = try SnapshotSearch(pattern, in: store)
            var found: [String] = []
            try search.run(in: store.repository.snapshots()) { found.append("\($0.snapshot.name) \($0.path)") }
            #expect(found == expected)
        }
    }
}
