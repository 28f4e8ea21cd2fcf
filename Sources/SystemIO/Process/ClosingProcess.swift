import BackupCore
import Glibc

/// What `/proc` says about a process while it closes a file.
public enum ClosingProcess {
    /// Whether it was ended by a signal: its files are closed for it, and what it has written may be a part.
    /// - Returns: false where that is not visible.
    public static func wasKilled(_ process: Int32) -> Bool {
        guard process > 0, let bytes = try? FileSystem.readVirtualFile("/proc/\(process)/stat") else { return false }
        // The name in parentheses can have any bytes; the last of the fields is the status, as of waitpid(2).
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return false }
        let fields = bytes[(end + 1)...].split { $0 == 32 || $0 == 10 }
        guard fields.count >= 50, let status = Int32(String(decoding: fields[49], as: UTF8.self)) else { return false }
        return status & 0x7f != 0
    }

    /// Whether it has another descriptor for a file.
    /// - Parameter ending: the end of the file's path, as the process sees it.
    /// - Returns: `nil` where that is not visible.
    public static func hasDescriptor(_ process: Int32, forPathEndingWith ending: [UInt8]) -> Bool? {
        guard process > 0, let folder = try? DirectoryHandle(path: "/proc/\(process)/fd"), let names = try? folder.names() else {
            return nil
        }
        return names.contains { name in
            // A descriptor that is closed meanwhile has none.
            guard let target = try? folder.readLinkIfPresent(name) else { return false }
            return target.count >= ending.count && target.suffix(ending.count).elementsEqual(ending)
        }
    }
}
