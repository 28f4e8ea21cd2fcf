import BackupCore
import Glibc
import SystemIO

/// Gives copies the owner, mode, attributes and times of their originals.
struct CopiedAttributes {
    /// Only root may give files away.
    private static let keepsOwner = geteuid() == 0

    let destination: DestinationPlace
    let problems: ProblemList

    /// What a file system cannot keep is a warning, one for each destination.
    /// - Parameter mode: bits that are set in any case.
    func set(
        _ file: borrowing OwnedDescriptor, _ status: FileStatus, _ attributes: [ExtendedAttribute], addingMode mode: UInt32 = 0
    ) throws(BackupError) {
        let permissions = mode_t((status.mode | mode) & 0o7777)
        if Self.keepsOwner {
            try orWarn("owner", "owners are not kept by the destination \(destination.path)") { () throws(BackupError) in
                // Also of a new file: its folder can give its own group to it.
                try file.setOwner(FileOwner(user: status.owner, group: status.group))
            }
        }
        if !attributes.isEmpty, let error = file.setExtendedAttributes(attributes, permissions: permissions | 0o600) {
            try orWarn("xattr", "extended attributes are not kept by the destination \(destination.path)") {
                () throws(BackupError) in throw error
            }
        }
        try orWarn("mode", "modes are not kept by the destination \(destination.path)") { () throws(BackupError) in
            try file.setPermissions(permissions)
        }
        try file.setModificationTime(status.modificationTime)
        // FAT, exFAT and some servers accept what they do not keep.
        let kept = try file.status()
        if kept.mode & 0o7777 != UInt32(permissions) {
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
