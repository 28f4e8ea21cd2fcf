import BackupCore
import CFUSE
import Glibc
import VirtualTree

/// Requests about extended attributes.
enum ExtendedAttributeRequests {
    static func get(_ raw: OpaquePointer?, inode: fuse_ino_t, name: UnsafePointer<CChar>?, size: Int) {
        let request = Request(raw)
        guard let name = attributeName(name) else {
            request.fail(number: ENODATA)
            return
        }
        // `ls -l` queries `security.selinux` and `system.posix_acl_access` of every file, unless the first query fails because
        // the file system has no such attributes: then it stops. ENODATA would cost two round trips for each file.
        guard !isForeign(name) else {
            request.fail(number: EOPNOTSUPP)
            return
        }
        do throws(BackupError) {
            let value = try request.tree.extendedAttribute(name, of: InodeNumber(inode))
            request.reply(attributeValue: value, limit: size)
        } catch {
            request.fail(error, "getxattr")
        }
    }

    static func list(_ raw: OpaquePointer?, inode: fuse_ino_t, size: Int) {
        let request = Request(raw)
        do throws(BackupError) {
            let names = try request.tree.extendedAttributeNames(of: InodeNumber(inode))
            var list: [UInt8] = []
            for name in names {
                list.append(contentsOf: name.utf8)
                list.append(0)
            }
            request.reply(attributeValue: list, limit: size)
        } catch {
            request.fail(error, "listxattr")
        }
    }

    /// - Parameter flags: `XATTR_CREATE` and `XATTR_REPLACE` of setxattr(2).
    static func set(
        _ raw: OpaquePointer?, inode: fuse_ino_t, name: UnsafePointer<CChar>?, value: UnsafeRawBufferPointer, flags: Int32
    ) {
        let request = Request(raw)
        // Copy programs interpret EOPNOTSUPP as "this file system has no such attributes" and continue silently.
        guard let name = attributeName(name), !isForeign(name) else {
            request.fail(number: EOPNOTSUPP)
            return
        }
        do throws(BackupError) {
            let inode = InodeNumber(inode)
            if flags != 0 {
                let exists = try hasAttribute(name, inode, request.tree)
                if flags & xattrCreate != 0, exists {
                    throw BackupError(.alreadyExists, "the attribute \(name) is there already")
                }
                if flags & xattrReplace != 0, !exists {
                    throw BackupError(.noAttribute, "there is no attribute \(name)")
                }
            }
            try request.tree.setExtendedAttribute(name, of: inode, to: Array(value))
            request.succeed()
        } catch {
            request.fail(error, "setxattr")
        }
    }

    static func remove(_ raw: OpaquePointer?, inode: fuse_ino_t, name: UnsafePointer<CChar>?) {
        let request = Request(raw)
        guard let name = attributeName(name), !isForeign(name) else {
            request.fail(number: ENODATA)
            return
        }
        do throws(BackupError) {
            try request.tree.removeExtendedAttribute(name, of: InodeNumber(inode))
            request.succeed()
        } catch {
            request.fail(error, "removexattr")
        }
    }

    /// `XATTR_CREATE` and `XATTR_REPLACE` of setxattr(2), which Glibc's Swift module does not show.
    private static let xattrCreate: Int32 = 1
    private static let xattrReplace: Int32 = 2

    private static func hasAttribute(
        _ name: String, _ inode: InodeNumber, _ tree: any TreeOperations
    ) throws(BackupError) -> Bool {
        do throws(BackupError) {
            _ = try tree.extendedAttribute(name, of: inode)
            return true
        } catch {
            guard error.code == .noAttribute else { throw error }
            return false
        }
    }

    /// - Returns: `nil` when the name is not UTF-8; no attribute of this program has such a name.
    private static func attributeName(_ text: UnsafePointer<CChar>?) -> String? {
        text.flatMap { String(validatingCString: $0) }
    }

    /// Attributes of the kernel's security modules and access control lists, which no file here has: rejected before anything is
    /// looked up.
    private static func isForeign(_ name: String) -> Bool {
        name.hasPrefix("security.") || name.hasPrefix("system.posix_acl_")
    }
}
