import BackupCore
import GRDB

/// What a row of the catalog holds. The file may come from anybody who can write to the repository's folder, with other types than ours in it: GRDB
/// ends the process when a value is not of the type that is asked for.
extension Row {
    /// - Throws: `repositoryDamaged` when there is no whole number.
    func integer(_ index: Int) throws -> Int64 {
        guard let number = try integerIfPresent(index) else { throw Self.wrongType }
        return number
    }

    /// - Returns: `nil` for NULL.
    /// - Throws: `repositoryDamaged` for anything else than a whole number.
    func integerIfPresent(_ index: Int) throws -> Int64? {
        switch (self[index] as DatabaseValue).storage {
        case .null: nil
        case .int64(let number): number
        default: throw Self.wrongType
        }
    }

    /// - Returns: `nil` for what is no text.
    func text(_ index: Int) -> String? {
        if case .string(let text) = (self[index] as DatabaseValue).storage { text } else { nil }
    }

    private static let wrongType = BackupError(.repositoryDamaged, "the catalog has a value of another type")
}
