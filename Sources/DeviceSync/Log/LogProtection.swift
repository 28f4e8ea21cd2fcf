import BackupCore

/// How the objects of the logs are sealed. Without a repository's key they are as they are.
public struct LogProtection: Sendable {
    /// Seals and opens bytes for one name, so that no object can take another's place.
    public typealias Transformation = @Sendable (_ bytes: [UInt8], _ name: String) throws(BackupError) -> [UInt8]

    let seal: Transformation
    let open: Transformation

    public init(seal: @escaping Transformation, open: @escaping Transformation) {
        self.seal = seal
        self.open = open
    }

    /// For a plain repository.
    public static let none = LogProtection(
        seal: { (bytes, _) throws(BackupError) in bytes }, open: { (bytes, _) throws(BackupError) in bytes })
}
