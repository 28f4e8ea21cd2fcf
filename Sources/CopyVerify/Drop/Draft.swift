import BackupCore
import Glibc
import Synchronization
import SystemIO

extension CopySet {
    /// A file in the spool, while a program writes it.
    public final class Draft: Sendable {
        private let file: SharedFile
        private let state: Mutex<(path: [FileName], permissions: mode_t)>

        init(_ file: SharedFile, at path: [FileName], permissions: mode_t) {
            self.file = file
            state = Mutex((path, permissions))
        }

        /// In the set.
        public var path: [FileName] { state.withLock { $0.path } }

        func setPath(_ path: [FileName]) { state.withLock { $0.path = path } }

        /// As it will be copied.
        public var permissions: mode_t { state.withLock { $0.permissions } }

        /// Of the file as it is now.
        public func status() throws(BackupError) -> FileStatus { try file.status() }

        /// - Returns: bytes read: fewer than asked for only at the end.
        public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            try file.read(at: offset, into: buffer)
        }

        /// Writes all bytes.
        public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
            try file.write(bytes, at: offset)
        }

        /// Cuts the file off, or fills it with zeros up to a size.
        public func truncate(to size: UInt64) throws(BackupError) {
            try file.withDescriptor { (file) throws(BackupError) in try file.truncate(to: size) }
        }

        /// fsync(2).
        public func synchronize() throws(BackupError) { try file.synchronize() }

        /// What the program sets; the copies get it.
        public func setAttributes(permissions: mode_t?, modificationTime: Timestamp?) throws(BackupError) {
            if let permissions { state.withLock { $0.permissions = permissions } }
            guard let modificationTime else { return }
            try file.withDescriptor { (file) throws(BackupError) in try file.setModificationTime(modificationTime) }
        }

        /// Until now it was to be written.
        /// - Returns: false when the file is to have a mode with which it could not be read.
        func finishMode() throws(BackupError) -> Bool {
            let wanted = permissions
            let permissions = wanted | 0o400
            try file.withDescriptor { (file) throws(BackupError) in
                guard try file.status().mode & 0o7777 != UInt32(permissions) else { return }
                try file.setPermissions(permissions)
            }
            return permissions == wanted
        }

        /// The copies get it.
        public func setExtendedAttribute(_ attribute: ExtendedAttribute) throws(BackupError) {
            try file.withDescriptor { (file) throws(BackupError) in
                if let error = file.setExtendedAttributes([attribute], permissions: permissions) { throw error }
            }
        }

        /// Those that the copies get.
        public func extendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
            try file.withDescriptor { (file) throws(BackupError) in try file.extendedAttributes() }
        }
    }
}

/// Names that programs give to files while they write them; the final name follows.
enum TemporaryNames {
    private static let suffixes = [".part", ".partial", ".filepart", ".crdownload", ".download", ".tmp", "~"]
    private static let outputStreamPrefix = ".goutputstream-"
    private static let randomCount = 6

    static func has(_ name: FileName) -> Bool {
        let text = name.description.lowercased()
        return isDotted(name) || suffixes.contains { text.hasSuffix($0) }
    }

    /// Those that begin with a dot: `.NAME.XXXXXX` of rsync, with six letters and digits, and `.goutputstream-XXXXXX` of GIO.
    static func isDotted(_ name: FileName) -> Bool {
        guard name.bytes.first == UInt8(ascii: ".") else { return false }
        if name.bytes.starts(with: outputStreamPrefix.utf8) { return true }
        let end = name.bytes.suffix(randomCount + 1)
        guard name.bytes.count > randomCount + 2, end.first == UInt8(ascii: ".") else { return false }
        return end.dropFirst().allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: false
            }
        }
    }
}
