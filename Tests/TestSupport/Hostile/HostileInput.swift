import BackupCore
import Testing

/// A hostile or broken file and the expected error.
public struct HostileInput: Sendable, CustomTestStringConvertible {
    public enum Kind: String, Sendable, CaseIterable {
        case json = "JSON"
        case zip = "ZIP archive"
        case tar = "tar archive"
        case database = "SQLite database"

        /// Python that `program` may use.
        var prelude: String {
            switch self {
            case .json: JSONCraft.prelude
            case .zip: ZIPCraft.prelude
            case .tar: TARCraft.prelude
            case .database: DatabaseCraft.prelude
            }
        }
    }

    public let kind: Kind
    public let name: String
    public let code: BackupError.Code
    /// Part of the expected message.
    public let finding: String
    /// Python that calls `write(bytes)`.
    public let program: String

    public static func zip(_ name: String, _ code: BackupError.Code, _ finding: String, _ program: String) -> HostileInput {
        HostileInput(kind: .zip, name: name, code: code, finding: finding, program: program)
    }

    public static func tar(_ name: String, _ code: BackupError.Code, _ finding: String, _ program: String) -> HostileInput {
        HostileInput(kind: .tar, name: name, code: code, finding: finding, program: program)
    }

    public static func json(_ name: String, _ code: BackupError.Code, _ finding: String, _ program: String) -> HostileInput {
        HostileInput(kind: .json, name: name, code: code, finding: finding, program: program)
    }

    public static func database(_ name: String, _ code: BackupError.Code, _ finding: String, _ program: String) -> HostileInput {
        HostileInput(kind: .database, name: name, code: code, finding: finding, program: program)
    }

    public var testDescription: String { name }

    /// The complete Python script; its first argument is the path of the file to create.
    public var script: String {
        "import sys\ndef write(data):\n    with open(sys.argv[1], 'wb') as file: file.write(data)\n" + kind.prelude + program
            + "\n"
    }

    /// Creates the file.
    /// - Returns: its path.
    public func make(in folder: TemporaryFolder) throws -> String {
        let path = folder("crafted")
        let result = try run(["python3", "-c", script, path])
        #expect(result.status == 0, "\(name): \(result.output)")
        return path
    }
}
