import BackupCore
import Glibc
import SystemIO

/// A folder that is removed with its last reference.
public final class TemporaryFolder: Sendable {
    public let path: String

    /// - Parameter inMemory: for many small files; uses a file system in memory if there is one.
    public init(inMemory: Bool = false) throws(BackupError) {
        let isInMemory = inMemory && access("/dev/shm", W_OK) == 0
        path = (isInMemory ? "/dev/shm" : Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-test-" + RandomToken.make()
        try FileSystem.makeDirectories(path)
    }

    deinit { try? FileSystem.removeTree(path) }

    /// A folder that only its creator can access, and has to remove.
    /// - Parameter prefix: the prefix of its path.
    public static func make(_ prefix: String) throws(Machine.Unusable) -> String {
        var template = Array("\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Machine.Unusable("no temporary folder") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// - Returns: the file's path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        try writeFile(self(name), bytes)
        return self(name)
    }

    @discardableResult
    public func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    /// - Returns: the new folder's path.
    public func makeFolder(_ name: String) throws(BackupError) -> String {
        try FileSystem.makeDirectories(self(name))
        return self(name)
    }

    public func read(_ name: String) throws -> [UInt8] { try readFile(self(name)) }
}
