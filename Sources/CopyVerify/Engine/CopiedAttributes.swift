import BackupCore
import Glibc
import SystemIO

/// Gives copies the owner, mode, attributes and times of their originals.
struct CopiedAttributes {
    /// Only root may give files away.
    private static let keepsOwner = geteuid() == 0
    private static let ownUser = geteuid()
    private static let ownGroup = getegid()

    let destination: DestinationPlace
    let problems: ProblemList

    /// The permissions that a copy may have before its attributes are set: none for others while it has another owner.
    /// A file that its owner may not write takes no extended attributes.
    static func firstPermissions(_ task: FileTask) -> mode_t {
        let status = task.status
        let isOwn = !keepsOwner || (status.owner == ownUser && status.group == ownGroup)
        return isOwn && task.attributes.isEmpty ? mode_t(status.mode & 0o777) : 0o600
    }

    /// Sets what differs. What a file system cannot keep is a warning, one for each destination; `warn` finds what it has
    /// accepted and has not kept.
    /// - Parameter mode: bits that are set in any case.
    func set(
        _ file: borrowing OwnedDescriptor, _ status: FileStatus, _ attributes: [ExtendedAttribute], addingMode mode: UInt32 = 0
    ) throws(BackupError) {
        let permissions = mode_t((status.mode | mode) & 0o7777)
        let present = try file.status()
        var hasMode = present.mode & 0o7777 == UInt32(permissions)
        // Also of a new file: its folder can give its own group to it.
        if Self.keepsOwner, present.owner != status.owner || present.group != status.group {
            hasMode = false
            try orWarn("owner", "owners are not kept by the destination \(destination.path)") { () throws(BackupError) in
                try file.setOwner(FileOwner(user: status.owner, group: status.group))
            }
        }
        if !attributes.isEmpty {
            hasMode = false
            if let error = file.setExtendedAttributes(attributes, permissions: permissions | 0o600) {
                try orWarn("xattr", "extended attributes are not kept by the destination \(destination.path)") {
                    () throws(BackupError) in throw error
                }
            }
        }
        if !hasMode {
            try orWarn("mode", "modes are not kept by the destination \(destination.path)") { () throws(BackupError) in
                try file.setPermissions(permissions)
            }
        }
        try file.setModificationTime(status.modificationTime)
    }

    /// FAT, exFAT and some servers accept what they do not keep.
    /// - Parameters:
    ///   - kept: of the copy, later.
    ///   - mode: bits that were set in any case.
    func warn(ofLossIn kept: FileStatus, _ status: FileStatus, addingMode mode: UInt32 = 0) {
        if kept.mode & 0o7777 != (status.mode | mode) & 0o7777 {
            problems.warnOnce("mode \(destination.path)", "modes are not kept by the destination \(destination.path)")
        }
        if kept.modificationTime != status.modificationTime {
            problems.warnOnce("time \(destination.path)", "times are kept less exactly by the destination \(destination.path)")
        }
    }

    private func orWarn(_ what: String, _ text: Message, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        do {
            try body()
        } catch let error where !Destination.isOfDevice(error) {
            problems.warnOnce("\(what) \(destination.path)", text)
        }
    }
}
