import BackupCore
import CLinux
import Glibc

/// The mounts that this process sees (`/proc/self/mountinfo`). Reading it touches none of the mounts, so it does not hang on one
/// whose daemon is dead.
public struct MountTable: Sendable {
    /// A line of the table.
    public struct Entry: Sendable, Equatable {
        /// Absolute path of the mountpoint; bytes that are not UTF-8 become U+FFFD.
        public let path: String
        /// `fuse.backupfs`, `ext4`, …
        public let fileSystemType: String
        /// The mounted source: a device, or the `fsname=` option.
        public let source: String
        /// Device numbers, as in `st_dev` and in `/sys/class/bdi`.
        public let major: UInt32
        /// The second device number.
        public let minor: UInt32
        /// The user who mounted a FUSE file system and for whom it answers, from its options; `nil` for other file systems.
        public let userID: UInt32?
        /// The group of that user, from the options; `nil` for other file systems.
        public let groupID: UInt32?

        /// - Parameter device: an `st_dev` value, which encodes both numbers as makedev(3) does.
        public func isOf(device: UInt64) -> Bool {
            let (major, minor) = (UInt64(major), UInt64(minor))
            return device == minor & 0xff | (major & 0xfff) << 8 | (minor & ~0xff) << 12 | (major & ~0xfff) << 32
        }

        /// Whether a process serves it: it hangs when the process does.
        public var isFUSE: Bool {
            fileSystemType == "fuse" || fileSystemType == "fuseblk" || fileSystemType.hasPrefix("fuse.")
        }
    }

    /// In mount order: of several mounts at one path, the last one is visible.
    public let entries: [Entry]

    /// The current table.
    public static func current() throws(BackupError) -> MountTable {
        MountTable(parsing: try OwnedDescriptor.open("/proc/self/mountinfo", O_RDONLY).readToEnd())
    }

    /// - Parameter bytes: lines in the format of proc(5); other lines are skipped.
    public init(parsing bytes: [UInt8]) {
        entries = bytes.split(separator: UInt8(ascii: "\n")).compactMap { Self.entry($0) }
    }

    /// The visible mount at `path`, if it is a mountpoint.
    /// - Parameter path: absolute, without symbolic links.
    public func entry(at path: String) -> Entry? { entries.last { $0.path == path } }

    /// The mount that contains a path.
    /// - Parameter path: absolute, without symbolic links.
    public func entry(holding path: String) -> Entry? {
        var path = path
        while true {
            if let entry = entry(at: path) { return entry }
            if path == "/" { return nil }
            path = FileSystem.parentPath(path)
        }
    }

    /// In the order of the table: of two at one place, the later one is visible.
    public func entries(ofType type: String) -> [Entry] { entries.filter { $0.fileSystemType == type } }

    /// `36 35 98:0 /root /mountpoint rw,noatime shared:1 - type source options`: any number of fields may precede the `-`.
    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard fields.count > 6, let dash = fields[6...].firstIndex(of: [UInt8(ascii: "-")]), dash + 2 < fields.count else {
            return nil
        }
        let device = text(fields[2]).split(separator: ":").compactMap { UInt32($0) }
        guard device.count == 2 else { return nil }
        let options = dash + 3 < fields.count ? text(fields[dash + 3]).split(separator: ",") : []
        func number(_ name: String) -> UInt32? {
            options.first { $0.hasPrefix("\(name)=") }.flatMap { UInt32($0.dropFirst(name.count + 1)) }
        }
        return Entry(
            path: text(fields[4]), fileSystemType: text(fields[dash + 1]), source: text(fields[dash + 2]), major: device[0],
            minor: device[1], userID: number("user_id"), groupID: number("group_id"))
    }

    /// Decodes the kernel's `\040` for a space, and so on.
    private static func text(_ field: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var index = field.startIndex
        while index < field.endIndex {
            let digits = field[index...].dropFirst().prefix(3)
            if field[index] == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (48...55).contains($0) }) {
                bytes.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 * 8 + Int($1 - 48) }))
                index += 4
            } else {
                bytes.append(field[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The type of the file system that holds a path.
extension FileSystem {
    /// statfs(2) types of file systems that only this machine writes to.
    private static let ownTypes: Set<UInt32> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x8584_58F6, 0xF2F5_2010, 0x794C_7630, 0x2FC1_2FC1, 0x4D44, 0x2011_BAB0,
        0x7366_746E, 0x5346_544E, 0x482B, 0x4244, 0x9660, 0x7371_7368, 0xCA45_1A4E, 0x3153_464A, 0x5265_4973, 0x3434, 0x1501_3346,
        0xE0F5_E1E2,
    ]

    /// Whether other hosts may write to the file system that holds `path`, so that its locks, times and mapped files may not be
    /// this kernel's own. True except for types known to be local (ext, XFS, btrfs, tmpfs, F2FS, overlay, ZFS, FAT, exFAT, NTFS
    /// and similar). For a missing path, the nearest existing folder above it counts.
    public static func isShared(_ path: String) throws(BackupError) -> Bool {
        var path = absolutePath(path)
        while try !exists(path), path != "/" { path = parentPath(path) }
        var type: UInt32 = 0
        try SystemCall.check("read the kind of file system", path) { backupfs_filesystem_type(-1, path, &type) }
        return !ownTypes.contains(type)
    }

    /// The members of `ownTypes` that store no change time on the disk: FAT, exFAT, HFS.
    private static let typesWithoutChangeTime: Set<UInt32> = [0x4D44, 0x2011_BAB0, 0x4244]
    /// NFS and CephFS: their servers keep the change time.
    private static let sharedTypesWithChangeTime: Set<UInt32> = [0x6969, 0x00C3_6400]

    /// Whether a file is on a FUSE file system (statfs(2)).
    public static func isFUSE(_ descriptor: borrowing OwnedDescriptor) -> Bool {
        var type: UInt32 = 0
        return SystemCall.retrying({ backupfs_filesystem_type(descriptor.rawValue, nil, &type) }) == 0 && type == 0x6573_5546
    }

    /// Whether the file system of a descriptor sets a file's change time (`st_ctime`) at each change, as POSIX requires, so that
    /// no program can hide a change. FAT and exFAT have none. SMB and FUSE file systems return what their server makes up; sshfs
    /// returns the modification time, which any program may set back. False for a file system that is not known to keep one.
    public static func keepsChangeTime(_ descriptor: borrowing OwnedDescriptor) -> Bool {
        var type: UInt32 = 0
        guard SystemCall.retrying({ backupfs_filesystem_type(descriptor.rawValue, nil, &type) }) == 0 else { return false }
        return sharedTypesWithChangeTime.contains(type) || ownTypes.contains(type) && !typesWithoutChangeTime.contains(type)
    }

    /// The members of `ownTypes` on which a file is one inode, whose change time shows each write: ext, XFS, btrfs, F2FS and ZFS.
    /// On overlayfs a hard link copies a file of a lower layer, and a lease on it says nothing of the layer below.
    private static let typesForLinks: Set<UInt32> = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1]
    private static let memoryType: UInt32 = 0x0102_1994

    /// What shows that a file which a program may have open is unchanged.
    public enum ChangeProof {
        /// Its change time.
        case changeTime
        /// Only its bytes, as on tmpfs: a store into a mapped file changes no time there.
        case bytes
    }

    /// What proves that a file of another program is unchanged, and whether a hard link to it is safe with a `ReadLease`.
    /// - Returns: `nil` where no link is safe, and only the bytes say something.
    public static func proofForLink(_ descriptor: borrowing OwnedDescriptor) -> ChangeProof? {
        var type: UInt32 = 0
        guard SystemCall.retrying({ backupfs_filesystem_type(descriptor.rawValue, nil, &type) }) == 0 else { return nil }
        if type == memoryType { return .bytes }
        return typesForLinks.contains(type) ? .changeTime : nil
    }

    /// Whether locks (fcntl(2)) on the file system of a descriptor exclude the programs of all hosts that can write to it: on
    /// local file systems, NFS and CephFS, but not on FUSE file systems such as sshfs, whose locks this machine's kernel keeps to
    /// itself. NFS that is mounted with `nolock` cannot be recognized.
    public static func hasLocksForAllHosts(_ descriptor: borrowing OwnedDescriptor) -> Bool {
        var type: UInt32 = 0
        guard SystemCall.retrying({ backupfs_filesystem_type(descriptor.rawValue, nil, &type) }) == 0 else { return false }
        return ownTypes.contains(type) || sharedTypesWithChangeTime.contains(type)
    }

    /// Whether the file system is mounted read-only: then this machine does not change it.
    public static func isReadOnly(_ path: String) -> Bool {
        var value = statvfs()
        guard SystemCall.retrying({ statvfs(path, &value) }) == 0 else { return false }
        return value.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Whether rename(2) works between the two folders: both must be on the same mount. Two bind mounts of one file system are
    /// two mounts.
    public static func areOnOneMount(_ first: String, _ second: String) throws(BackupError) -> Bool {
        // Within one mount, btrfs subvolumes are still separate devices.
        guard try status(first).device == status(second).device else { return false }
        let numbers = (backupfs_mount_number(first), backupfs_mount_number(second))
        return numbers.0 == 0 || numbers.1 == 0 || numbers.0 == numbers.1
    }
}
