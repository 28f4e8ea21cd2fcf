import BackupCore
import Glibc

/// The options of a mount, as given by `-o` on a command line or in `/etc/fstab`.
///
/// | option | what it does |
/// | --- | --- |
/// | `allow_other`, `allow_root` | lets other users, or only root, use the mount; as a user this needs `user_allow_other` in `/etc/fuse.conf` |
/// | `ro`, `rw` | read-only: nothing can be backed up, restored or deleted through the mount |
/// | `uid=USER`, `gid=GROUP` | the owner of the files, by number or name; by default the mounting user and group |
/// | `max_read=BYTES` | largest read request, 4,096 to 1,048,576 |
/// | `fsname=NAME`, `subtype=NAME` | the names shown by `mount` and `df`; both `backupfs` by default |
/// | `nonempty` | mounts over a folder that is not empty |
/// | `auto_unmount` | lets fusermount3 unmount when the program dies |
/// | `store=DIR` | the store |
/// | `password_file=FILE` | a file whose first line is the password of an encrypted repository |
/// | `suid`, `dev`, `exec`, `sync`, `dirsync`, their opposites, `noatime`, `nodiratime`, `context=` and similar | passed to the kernel |
/// | `default_permissions` | is always on |
/// | `x-…`, `_netdev`, `nofail`, `auto`, `noauto`, `user`, `users`, `nouser`, `owner`, `group`, `defaults`, `comment=`, `atime`, `relatime` and similar | ignored: they are for mount(8) and systemd, or about access times, which are not stored |
public struct MountOptions: Sendable, Equatable {
    /// The largest request that Linux sends: 256 pages.
    public static let largestRequestBytes = 1 << 20

    /// The store named by `store=`.
    public var storePath: String?
    /// The file named by `password_file=`.
    public var passwordFilePath: String?
    /// `allow_other`: all users may look, as far as permissions allow.
    public var allowsOthers = false
    /// `allow_root`: root may look as well.
    public var allowsRoot = false
    /// `ro`: the kernel refuses every change.
    public var isReadOnly = false
    /// User and group that own the files; `nil` means the mounting user and group.
    public var ownerUser: UInt32?
    /// See `ownerUser`.
    public var ownerGroup: UInt32?
    /// `max_read=`: the longest read that the kernel sends.
    public var maximumReadBytes = MountOptions.largestRequestBytes
    /// `fsname=`: the source that the mount table shows.
    public var fileSystemName = "backupfs"
    /// `subtype=`: the type in the mount table after `fuse.`.
    public var subtype = "backupfs"
    /// `nonempty`: the mountpoint may contain files, which the mount hides.
    public var allowsNonEmptyMountpoint = false
    /// Options that go to the kernel or to fusermount3 unchanged, in the given order.
    public var passedOptions: [String] = []

    public init() {}

    /// - Parameter lists: the values of each `-o`: options separated by commas; a comma within an option is written `\,` and a
    ///   backslash `\\`. Of contradicting options the last one wins.
    /// - Throws: `usage`, naming an unknown option or one with an invalid value.
    public init(parsing lists: [String]) throws(BackupError) {
        for list in lists {
            for option in Self.split(list) { try apply(option) }
        }
    }

    /// The type of mounts with this subtype in `/proc/self/mountinfo`.
    public var fileSystemType: String { "fuse.\(subtype)" }

    /// The arguments for libfuse, without the program's name.
    var libraryArguments: [String] {
        var options = ["default_permissions", "fsname=\(fileSystemName)", "subtype=\(subtype)", "max_read=\(maximumReadBytes)"]
        if allowsOthers { options.append("allow_other") }
        if allowsRoot { options.append("allow_root") }
        options.append(isReadOnly ? "ro" : "rw")
        options += passedOptions
        return options.flatMap { ["-o", Self.escape($0)] }
    }

    private static let passedNames: Set<String> = [
        "suid", "nosuid", "dev", "nodev", "exec", "noexec", "sync", "async", "dirsync", "noatime", "nodiratime", "auto_unmount",
    ]
    private static let passedPrefixes = ["context=", "fscontext=", "defcontext=", "rootcontext="]
    private static let ignoredNames: Set<String> = [
        "_netdev", "nofail", "auto", "noauto", "user", "users", "nouser", "owner", "noowner", "group", "nogroup", "defaults",
        "default_permissions", "atime", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "lazytime",
        "nolazytime", "",
    ]
    private static let ignoredPrefixes = ["x-", "X-", "comment=", "user="]

    private mutating func apply(_ option: String) throws(BackupError) {
        switch option {
        case "allow_other": allowsOthers = true
        case "allow_root": allowsRoot = true
        case "ro": isReadOnly = true
        case "rw": isReadOnly = false
        case "nonempty": allowsNonEmptyMountpoint = true
        case _ where Self.passedNames.contains(option) || Self.passedPrefixes.contains(where: option.hasPrefix):
            passedOptions.append(option)
        case _ where Self.ignoredNames.contains(option) || Self.ignoredPrefixes.contains(where: option.hasPrefix):
            break
        default: try applyValue(option)
        }
    }

    private mutating func applyValue(_ option: String) throws(BackupError) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1]) : ""
        switch parts[0] {
        case "store": storePath = try Self.text(value, of: option)
        case "password_file": passwordFilePath = try Self.text(value, of: option)
        case "fsname": fileSystemName = try Self.text(value, of: option)
        case "subtype": subtype = try Self.text(value, of: option)
        case "uid": ownerUser = try Self.owner(value, of: option) { getpwnam($0)?.pointee.pw_uid }
        case "gid": ownerGroup = try Self.owner(value, of: option) { getgrnam($0)?.pointee.gr_gid }
        case "max_read":
            maximumReadBytes = Int(try Self.number(value, of: option, in: 4096...UInt32(Self.largestRequestBytes)))
        case "remount":
            throw BackupError(
                .usage, "what is mounted cannot be changed in place",
                remedy: "Unmount it, and mount it again with the options that it shall have.")
        default:
            throw BackupError(
                .usage, "the mount option \"\(option)\" is not known",
                remedy: "Leave it out; `backupfs mount --help` lists the options.")
        }
    }

    private static func text(_ value: String, of option: String) throws(BackupError) -> String {
        guard !value.isEmpty else { throw BackupError(.usage, "the mount option \"\(option)\" needs a value") }
        return value
    }

    private static func number(_ value: String, of option: String, in range: ClosedRange<UInt32>) throws(BackupError) -> UInt32 {
        guard let number = UInt32(value), range.contains(number) else {
            throw BackupError(
                .usage, "the mount option \"\(option)\" needs a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// - Parameter find: returns the number for a name; `nil` when there is no such user or group.
    private static func owner(_ value: String, of option: String, _ find: (String) -> UInt32?) throws(BackupError) -> UInt32 {
        guard UInt32(value) == nil, !value.isEmpty, !value.utf8.contains(0) else {
            return try number(value, of: option, in: 0...UInt32.max - 1)
        }
        guard let number = find(value) else {
            throw BackupError(
                .usage, "the mount option \"\(option)\" names no user or group of this machine",
                remedy: "Give a name that `getent` knows, or a number.")
        }
        return number
    }

    private static func split(_ list: String) -> [String] {
        var options = [""]
        var isEscaped = false
        for character in list.unicodeScalars {
            if isEscaped {
                // Any other backslash is literal.
                if character != ",", character != "\\" { options[options.count - 1] += "\\" }
                options[options.count - 1].unicodeScalars.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "," {
                options.append("")
            } else {
                options[options.count - 1].unicodeScalars.append(character)
            }
        }
        if isEscaped { options[options.count - 1] += "\\" }
        return options
    }

    private static func escape(_ option: String) -> String {
        var text = ""
        for character in option.unicodeScalars {
            if character == "," || character == "\\" { text += "\\" }
            text.unicodeScalars.append(character)
        }
        return text
    }
}
