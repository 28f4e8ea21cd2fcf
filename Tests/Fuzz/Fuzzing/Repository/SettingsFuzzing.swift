import BackupCore
import Operations

/// `store.yaml`, as a user may have edited it, and as a repository gives it to a store that adopts a source.
enum SettingsFuzzing {
    static func run(_ bytes: [UInt8]) throws -> FuzzOutcome {
        do {
            let found = try SettingsProbe.reread(bytes)
            try FuzzViolation.require(found.first == found.second, "\(found.first) became \(found.second)")
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, [.invalidContent, .unsupportedVersion])
        }
    }
}
