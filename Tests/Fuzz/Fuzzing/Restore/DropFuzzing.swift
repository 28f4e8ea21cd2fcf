import AppData
import BackupCore
import Formats
import Restore
import SystemIO

/// A dropped file, whole: it is refused and nothing is left of it, or accepted, and then it can be restored.
enum DropFuzzing {
    private static let refusals = ZIPFuzzing.refusals.union([.unsupportedVersion])

    /// - Parameter choice: app and strategy.
    static func run(_ choice: UInt8, _ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        let definition = ground.definition(choice)
        let strategies = definition.strategies
        let strategy = strategies[Int(choice) / ground.definitions.count % strategies.count]
        let run = try DropRun(ground, definition)
        try run.write(bytes)
        do {
            _ = try run.operation.check(ImportSource(file: run.dropPath), strategy: strategy)
        } catch {
            try run.requireOnly(["drop", "work"], inWork: ["records"])
            return try MessageRules.outcome(error, refusals)
        }
        try restore(run, definition, strategy)
        return .accepted
    }

    private static func restore(_ run: DropRun, _ definition: AppDefinition, _ strategy: ImportStrategy) throws {
        try run.makeApp()
        let checked: CheckedImport
        do {
            checked = try run.operation.check(ImportSource(file: run.dropPath), strategy: strategy)
        } catch {
            // A database of the newest form is not filled with what has an older one, unless all is replaced.
            _ = try MessageRules.outcome(error, [.notSupported])
            return
        }
        try MessageRules.require(warnings: checked.warnings)
        do {
            try run.operation.run(checked, fileName: "drop", report: { _ in }) { run.safetySnapshot }
        } catch {
            // What can only be known of both, the file and what is there.
            try FuzzViolation.require(strategy != .replace, "it was accepted, and then: \(error) \(error.findings)")
            _ = try MessageRules.outcome(error, [.invalidContent, .notSupported, .damagedContent])
            return
        }
        try run.requireOnly(["app", "drop", "restore.journal", "work"], inWork: nil)
        try run.requireApp(["database.sqlite", "media"])
        guard strategy == .replace else { return }
        let expected = checked.summary.recordCounts
        let found = try run.database.readSnapshot { (snapshot) throws(BackupError) in
            var counts: [Int] = []
            for (index, collection) in snapshot.definition.collections.enumerated() {
                counts.append(collection.source == .table ? try snapshot.count(of: index) : expected[index])
            }
            return counts
        }
        // Records that came with the app may have stayed.
        try FuzzViolation.require(
            zip(found, expected).allSatisfy { $0 >= $1 }, "\(found) records are there, \(expected) were in the file")
    }
}
