import BackupCore
import GRDB

/// Typed access to a catalog row. Anyone with write access to the repository's folder may have put other types into the file, and GRDB ends the process when a
/// value does not have the requested type.
extension Row {
    /// - Throws: `repositoryDamaged` when the value is not an integer.
    func integer(_ index: Int) throws -> Int64 {
        guard let number = try integerIfPresent(index) else { throw Self.wrongType }
        return number
    }

    /// - Returns: `nil` for NULL.
    /// - Throws: `repositoryDamaged` for anything but an integer or NULL.
    func integerIfPresent(_ index: Int) throws -> Int64? {
        switch (self[index] as DatabaseValue).storage {
        case .null: nil
        case .int64(let number): number
        default: throw Self.wrongType
        }
    }

    /// - Returns: `nil` when the value is not text.
    func text(_ index: Int) -> String? {
        if case .string(let text) = (self[index] as DatabaseValue).storage { text } else { nil }
    }

    private static let wrongType = BackupError(.repositoryDamaged, "the catalog has a value of another type")
}
