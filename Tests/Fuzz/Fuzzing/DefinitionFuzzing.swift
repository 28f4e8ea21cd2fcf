import AppData
import BackupCore
import Formats

/// The reader of definitions: a definition, or problems that can be told, and never both.
enum DefinitionFuzzing {
    static func run(_ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        guard let text = String(validating: bytes, as: UTF8.self) else { return .refused(.invalidContent) }
        let check = AppDefinition.check(yaml: text)
        try MessageRules.require(warnings: check.warnings.map(\.text))
        guard let definition = check.definition else {
            try FuzzViolation.require(!check.problems.isEmpty, "there is no definition, and nothing is wrong")
            do {
                _ = try AppDefinition.load(yaml: text)
            } catch {
                // All problems are told, and each line can have some.
                return try MessageRules.outcome(error, [.invalidContent], findingCountLimit: bytes.count + 10)
            }
            throw FuzzViolation("there is a definition the second time")
        }
        try FuzzViolation.require(check.problems.isEmpty, "there is a definition, and something is wrong")
        // Whatever it says, an export can be read by it.
        for document in ["{}", "{\"metadata\": {\"createdAt\": null}, \"x\": []}"] {
            do {
                _ = try WireImport(WatchedSource(Array(document.utf8)), definition: definition, now: ground.now)
            } catch {
                _ = try MessageRules.outcome(error, [.invalidContent, .unsupportedVersion])
            }
        }
        return .accepted
    }
}
