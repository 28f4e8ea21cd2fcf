import BackupCore
import Glibc

/// The mounts that this process sees (`/proc/self/mountinfo`). Reading it touches none of the mounts, so it does not hang on one whose daemon is dead.
public struct MountTable: Sendable {
    public struct Entry: Sendable, Equatable {
        /// Absolute path of the mountpoint; bytes that are not UTF-8 become U+FFFD.
        public let path: String
        /// `fuse.backupfs`, `ext4`, …
        public let fileSystemType: String
        /// The mounted source: a device, or the `fsname=` option.
        public let source: String
        /// Device numbers, as in `st_dev` and in `/sys/class/bdi`.
        public let major: UInt32
        public let minor: UInt32
        /// The user who mounted a FUSE file system and for whom it answers, from its options; `nil` for other file systems.
        public let userID: UInt32?
        public let groupID: UInt32?

        /// - Parameter device: an `st_dev` value, which encodes both numbers as makedev(3) does.
        public func isOf(device: UInt64) -> Bool {
            let (major, minor) = (UInt64(major), UInt64(minor))
            return device == minor & 0xff | (major & 0xfff) << 8 | (minor & ~0xff) << 12 | (major & ~0xfff) << 32
        }

        public var isFUSE: Bool {
            fileSystemType == "fuse" || fileSystemType == "fuseblk" || fileSystemType.hasPrefix("fuse.")
        }
    }

    /// In mount order: of several mounts at one path, the last one is visible.
    public let entries: [Entry]

    /// The current table.
    public static func current() throws(BackupError) -> MountTable {
        let path = "/proc/self/mountinfo"
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        // The size of a file in /proc is unknown before it is read.
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor.rawValue, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemCall.error(errno, action: "read", path: path)
            }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return MountTable(parsing: bytes)
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
