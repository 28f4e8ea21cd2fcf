import BackupCore
import Glibc
import SystemIO

/// Required space, summed up for each file system: files on the same disk need space together.
public struct DiskSpaceRequirement: Sendable {
    private var needs: [UInt64: (path: String, bytes: UInt64)] = [:]

    public init() {}

    /// - Parameter path: an existing folder or file
    public mutating func need(_ bytes: UInt64, at path: String) throws(BackupError) {
        // The disk of a link's target is the one that fills up.
        guard let device = try FileSystem.look(path)?.device else {
            throw SystemCall.error(ENOENT, action: "read the attributes", path: path)
        }
        let known = needs[device]
        let (sum, isOverflowing) = (known?.bytes ?? 0).addingReportingOverflow(bytes)
        needs[device] = (known?.path ?? path, isOverflowing ? .max : sum)
    }

    /// - Parameters:
    ///   - purpose: what needs the space, with its article.
    ///   - remedy: what to do
    /// - Throws: `noSpace` naming the folder.
    public func require(_ purpose: Message, remedy: Message) throws(BackupError) {
        for need in needs.values {
            let available = try FileSystem.space(at: need.path).availableBytes
            guard available >= need.bytes else {
                throw BackupError(
                    .noSpace, "\(purpose) needs \(need.bytes) bytes, and \(available) are free", path: need.path, remedy: remedy)
            }
        }
    }

    /// - Throws: `noSpace` naming the folder.
    public func require() throws(BackupError) {
        for need in needs.values {
            let available = try FileSystem.space(at: need.path).availableBytes
            guard available >= need.bytes else {
                throw BackupError(
                    .noSpace,
                    "the restore and the safety backup before it need \(need.bytes) bytes, and there are \(available)",
                    path: need.path, remedy: "Free some space and try again; nothing was changed.")
            }
        }
    }
}
