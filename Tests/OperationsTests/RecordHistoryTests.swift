import BackupCore
import BackupRepository
import Foundation
import SnapshotFormats
import SystemIO
import TestSupport
import Testing

@testable import Formats
@testable import Operations

/// `history/`: the states of each record over all backups.
struct RecordHistoryTests {
    private static let changes = [
        "update expenses set notes = 'n' || (abs(random()) % 3) where id % 7 = 0",
        "delete from expenses where id in (3, 5, 700)",
        "insert into expenses select id + 5000, car_id, type, date, odometer, amount, currency, notes from expenses where id < 4",
        "update cars set name = name || '!' where id = 1",
        "update expenses set notes = 'same' where id = 14",
        "update expenses set notes = 'other' where id = 14",
        "update expenses set notes = 'same' where id = 14",
        "delete from expenses where id = 14",
    ]

    /// A sample store with nine backups, `b0` to `b8`, that differ.
    private static func makeStore() throws -> (Sandbox, Store) {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample >/dev/null; backupfs backup --label b0 --store $S")
        let columns = try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"select group_concat(name, ', ') from pragma_table_info('expenses')\"")
        for (index, change) in changes.enumerated() {
            let copy =
                "insert into expenses (\(columns)) select id + 5000\(columns.dropFirst(2)) from expenses where id < 4"
            let sql = change.hasPrefix("insert") ? copy : change
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "\(sql)"; backupfs backup --label b\(index + 1) --store $S
                find $S/repository/packs -type f | sort > $R/packs-\(index + 1)
                """)
        }
        return (sandbox, try Store.open(sandbox.storePath))
    }

    /// A record as text that is the same for the same members.
    private static func text(_ record: Any) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: record, options: .sortedKeys), as: UTF8.self)
    }

    /// The states of all records, by the exports that the backups have: backup and record, as Foundation reads them.
    private static func model(
        _ collection: String, _ snapshots: [Snapshot], _ repository: Repository
    ) throws -> [String: [(backup: String, record: String?)]] {
        var states: [String: [(backup: String, record: String?)]] = [:]
        var isFirst = true
        for snapshot in snapshots {
            let root = try repository.rootDirectory(of: snapshot)
            guard let entry = root.entry(named: "export.json") else { continue }
            let export = try json(repository.readAll(repository.extents(of: entry.content)))
            var present: [String: String] = [:]
            for record in try #require(export[collection] as? [[String: Any]]) {
                present["\(try #require(record["id"]))"] = try text(record)
            }
            for key in Set(states.keys).union(present.keys) where states[key]?.last?.record != present[key] {
                if states[key] == nil, !isFirst { states[key] = [] }
                states[key, default: []].append((snapshot.name.description, present[key]))
            }
            isFirst = false
        }
        return states
    }

    private static func check(_ store: Store, _ histories: RecordHistories) throws {
        let snapshots = store.ownSnapshots(kind: .snapshot)
        for collection in ["cars", "expenses"] {
            let model = try model(collection, snapshots, store.repository)
            let names = try #require(try histories.records(of: FileName(collection), snapshots))
            #expect(!names.areMore && names.failures.isEmpty)
            let listed = Set(names.names.map(\.name.description))
            for (key, states) in model {
                let history = try #require(
                    try histories.history(of: FileName(key), in: FileName(collection), snapshots), "\(key)")
                let found = try history.states.map { state in
                    let file = try json(store.repository.readAll(state.file))
                    #expect(file["collection"] as? String == collection && file["app"] as? String == store.definition.name)
                    let records = try #require(file["records"] as? [Any])
                    return "\(state.snapshot.name) \(try text(records[0]))"
                }
                #expect(
                    found == states.compactMap { state in state.record.map { "\(state.backup) \($0)" } }, "\(collection) \(key)")
                #expect(listed.contains(key), "\(collection) \(key)")
                // One line for each change, and more for what changed.
                let lines = String(decoding: history.changes, as: UTF8.self).split(separator: "\n")
                #expect(lines.filter { !$0.hasPrefix(" ") }.count == states.count, "\(collection) \(key)")
            }
            #expect(listed == Set(model.keys), "\(collection)")
            #expect(try histories.history(of: "123456", in: FileName(collection), snapshots) == nil)
        }
    }

    @Test func `all states of all records, whatever is known of the changes`() throws {
        let (sandbox, store) = try Self.makeStore()
        try Self.check(store, RecordHistories(of: store))
        // Nothing is known, so that each backup is looked into. Then names are those of the newest backup alone.
        let blind = RecordHistories(of: store, keyLimitBytes: 0)
        let snapshots = store.ownSnapshots(kind: .snapshot)
        let known = RecordHistories(of: store)
        for key in ["1", "14", "3", "5001", "7"] as [FileName] {
            let one = try #require(try blind.history(of: key, in: "expenses", snapshots))
            let other = try #require(try known.history(of: key, in: "expenses", snapshots))
            #expect(one.changes == other.changes && one.states.map(\.snapshot) == other.states.map(\.snapshot), "\(key)")
        }
        // Backups disappear, and one has no export.
        try sandbox.sh(
            """
            for b in b2 b5 b6; do backupfs delete $b --store $S --yes; done
            backupfs config set export off --store $S
            sqlite3 $S/app/database.sqlite "update expenses set notes = 'off' where id = 21"; backupfs backup --label b9 --store $S
            backupfs config set export always --store $S
            sqlite3 $S/app/database.sqlite "update expenses set notes = 'on' where id = 28"; backupfs backup --label b10 --store $S
            """)
        try store.repository.refresh()
        try Self.check(store, known)
        try Self.check(store, RecordHistories(of: store))
    }

    @Test func `changes.txt says what happened, literally`() throws {
        let clock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z", "TZ": "UTC"]
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample >/dev/null; backupfs backup --label one --store $S", clock)
        for (minute, sql) in [(31, "set notes = 'a b'"), (32, "set notes = null, odometer = 5")] {
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"update expenses \(sql) where id = 1\"; backupfs backup --store $S >/dev/null",
                ["BACKUPFS_NOW": "2026-01-11T14:\(minute):00Z", "TZ": "UTC"])
        }
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite 'delete from expenses where id = 1'; backupfs backup --store $S >/dev/null",
            ["BACKUPFS_NOW": "2026-01-11T14:33:00Z", "TZ": "UTC"])
        let store = try Store.open(sandbox.storePath)
        let history = try #require(
            try RecordHistories(of: store).history(of: "1", in: "expenses", store.ownSnapshots(kind: .snapshot)))
        let text = String(decoding: history.changes, as: UTF8.self)
        let before = try sandbox.sh(
            """
            backupfs export one --json -o $R/one.json --store $S >/dev/null
            jq -c '.expenses[] | select(.id == 1) | [.notes, .odometer]' $R/one.json
            """)
        let values = try #require(try JSONSerialization.jsonObject(with: Data(before.utf8)) as? [Any])
        let notes = (values[0] as? String).map { "\"\($0)\"" } ?? "null"
        #expect(
            text.hasPrefix("2026-01-11_14-30-00  in the oldest backup  (one)\n2026-01-11_14-31-00  changed\n    notes: "),
            "\(text)")
        #expect(text.contains("    notes: \(notes) → \"a b\"\n") || values[0] is NSNull, "\(text)")
        #expect(text.contains("2026-01-11_14-32-00  changed\n    "), "\(text)")
        #expect(text.contains("    odometer: \(values[1]) → 5\n"), "\(text)")
        #expect(text.hasSuffix("2026-01-11_14-33-00  removed\n"), "\(text)")
        #expect(history.states.count == 3)
    }

    @Test func `a damaged backup hides no other, and nothing is said not to be there`() throws {
        let (sandbox, store) = try Self.makeStore()
        let snapshots = store.ownSnapshots(kind: .snapshot)
        // The third backup changed no car, so that no other one needs its packs for them.
        try sandbox.sh("comm -13 $R/packs-2 $R/packs-3 | while read -r f; do truncate -s 100 $f; done")
        let opened = try Store.open(sandbox.storePath)
        let histories = RecordHistories(of: opened)
        let history = try #require(try histories.history(of: "1", in: "cars", snapshots))
        #expect(history.failures.map(\.backup) == ["b3"])
        #expect(history.states.map(\.snapshot.name) == ["b0", "b4"])
        #expect(errorCode { _ = try histories.history(of: "123456", in: "cars", snapshots) } == .repositoryDamaged)
        #expect(errorCode { _ = try histories.records(of: "none", snapshots) } == .repositoryDamaged)
    }

    @Test(arguments: [
        (JSONKey.integer(42), "42"), (.integer(.min), "-9223372036854775808"), (.text([]), "%"),
        (.text(Array("a/b".utf8)), "a%2Fb"),
        (.text(Array("..".utf8)), "%2E."), (.text(Array("100%".utf8)), "100%25"), (.text(Array("ü\n\0".utf8)), "ü%0A%00"),
        (.text(Array("042".utf8)), "042"),
    ])
    func `a key has one name`(key: JSONKey, name: String) {
        #expect(RecordName.of(key) == FileName(name))
        #expect(RecordName.keys(of: FileName(name)).first == key)
    }

    @Test func `names that are no key's, and texts like numbers`() {
        for name in ["%2", "%zz", "%41", "a%2fb", "+5", "-0", "0%2E"] {
            let keys = RecordName.keys(of: FileName(name))
            #expect(keys.allSatisfy { RecordName.of($0) == FileName(name) }, "\(name)")
        }
        #expect(RecordName.keys(of: "42") == [.integer(42), .text(Array("42".utf8))])
        #expect(RecordName.ofText(likeNumber: Array("42".utf8)) == "%342")
        #expect(RecordName.keys(of: "%342") == [.text(Array("42".utf8))])
        #expect(RecordName.of(.text(Array(repeating: 97, count: 256))) == nil)
    }
}
