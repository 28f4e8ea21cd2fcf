import BackupCore
import CLinux
import Glibc

/// The extended attributes that a backup keeps: those that belong to the file and not to its machine.
public enum FileAttributes {
    /// The limits of Linux for a name (`XATTR_NAME_MAX`) and a value (`XATTR_SIZE_MAX`).
    public static let nameLimitBytes = 255
    public static let valueLimitBytes = 64 << 10
    /// For all attributes of a file together. Directory objects contain them, and every listing of a folder reads them all.
    public static let totalLimitBytes = 128 << 10

    private static let userPrefix = Array("user.".utf8)
    private static let others: Set<[UInt8]> = Set(
        ["security.capability", "system.posix_acl_access", "system.posix_acl_default"].map { Array($0.utf8) })

    public static func isKept(_ name: [UInt8]) -> Bool { name.starts(with: userPrefix) || others.contains(name) }

    /// The kept attributes of an open file or folder, sorted by name. One call for a file without attributes.
    /// - Throws: `tooLarge` when they exceed the limit; read errors.
    public static func read(_ descriptor: Int32, path: @autoclosure () -> String) throws(BackupError) -> [ExtendedAttribute] {
        guard let list = try bytes(limit: valueLimitBytes, path, { backupfs_flistxattr(descriptor, $0, $1) }), !list.isEmpty
        else { return [] }
        var attributes: [ExtendedAttribute] = []
        var total = 0
        for name in list.split(separator: 0).map(Array.init) where isKept(name) {
            let cName = name.map { CChar(bitPattern: $0) } + [0]
            // Removed since the listing: treated as if that had happened before it.
            guard let value = try bytes(limit: valueLimitBytes, path, { backupfs_fgetxattr(descriptor, cName, $0, $1) }) else {
                continue
            }
            attributes.append(ExtendedAttribute(name: name, value: value))
            total += name.count + value.count
        }
        guard total <= totalLimitBytes else {
            throw BackupError(.tooLarge, "it has more than 128 KiB of extended attributes, which are not kept", path: path())
        }
        return attributes.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// Sets attributes of an open file or folder, also when its mode forbids its owner to write.
    /// - Parameter permissions: the mode of the file or folder.
    /// - Returns: the first error; `nil` when all are set.
    static func set(
        _ attributes: [ExtendedAttribute], of descriptor: Int32, permissions: mode_t, path: @autoclosure () -> String
    ) -> BackupError? {
        var failure: Int32 = 0
        for attribute in attributes {
            var result = set(attribute, descriptor)
            if result == EACCES || result == EPERM, permissions & 0o200 == 0, fchmod(descriptor, permissions | 0o200) == 0 {
                result = set(attribute, descriptor)
                // An ACL's entry for the group is also in the mode.
                if fchmod(descriptor, permissions) != 0 { result = errno }
            }
            if result != 0, failure == 0 { failure = result }
        }
        return failure == 0 ? nil : SystemCall.error(failure, action: "set the extended attributes", path: path())
    }

    private static func set(_ attribute: ExtendedAttribute, _ descriptor: Int32) -> Int32 {
        let cName = attribute.name.map { CChar(bitPattern: $0) } + [0]
        let result = attribute.value.withUnsafeBytes { backupfs_fsetxattr(descriptor, cName, $0.baseAddress, UInt($0.count)) }
        return result == 0 ? 0 : errno
    }

    /// - Parameter call: returns the required length, or fills the buffer.
    /// - Returns: `nil` where there are none, or the file system does not support them.
    private static func bytes(
        limit: Int, _ path: () -> String, _ call: (UnsafeMutableRawPointer?, UInt) -> Int
    ) throws(BackupError) -> [UInt8]? {
        // The attributes may grow between the two calls.
        for _ in 0..<10 {
            let length = call(nil, 0)
            if length == 0 { return [] }
            if length > 0 {
                guard length <= limit else {
                    throw BackupError(
                        .tooLarge, "it has more than 128 KiB of extended attributes, which are not kept", path: path())
                }
                var buffer = [UInt8](repeating: 0, count: length)
                let count = buffer.withUnsafeMutableBytes { call($0.baseAddress, UInt($0.count)) }
                if count >= 0 { return Array(buffer[..<count]) }
            }
            switch errno {
            case ERANGE: continue
            case ENODATA, ENOTSUP, ENOSYS: return nil
            default: throw SystemCall.error(errno, action: "read the extended attributes", path: path())
            }
        }
        throw SystemCall.error(ERANGE, action: "read the extended attributes", path: path())
    }
}
