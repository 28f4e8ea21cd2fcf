import BackupCore
import Glibc

/// What `/proc` says about a process while it closes a file.
public enum ClosingProcess {
    /// Whether it was ended by a signal: its files are closed for it, and what it has written may be a part.
    /// - Returns: false where that is not visible.
    public static func wasKilled(_ process: Int32) -> Bool {
        // The last of the fields is the status, as of waitpid(2).
        guard let fields = statusFields(process), fields.count >= 50, let status = Int32(fields[49]) else { return false }
        return status & 0x7f != 0
    }

    /// Whether it has begun to end, and its files are closed for it. A process that has received the signal that ends it, but is
    /// in close(2) itself, has not begun yet.
    /// - Returns: false where that is not visible.
    public static func isExiting(_ process: Int32) -> Bool {
        // `PF_EXITING` of <linux/sched.h>, in the field `flags`.
        guard let fields = statusFields(process), fields.count >= 50, let flags = UInt32(fields[6]) else { return false }
        return flags & 4 != 0
    }

    /// The fields of `/proc/ID/stat` after the name.
    private static func statusFields(_ process: Int32) -> [Substring]? {
        guard process > 0, let bytes = try? FileSystem.readVirtualFile("/proc/\(process)/stat"),
            // The name in parentheses can have any bytes.
            let end = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        return String(decoding: bytes[(end + 1)...], as: UTF8.self).split { $0 == " " || $0 == "\n" }
    }

    /// Whether it, or a child of it, has another descriptor that writes to a file.
    /// - Parameter ending: the end of the file's path, as the process sees it.
    /// - Returns: `nil` where that is not visible.
    public static func keepsDescriptor(_ thread: Int32, forPathEndingWith ending: [UInt8]) -> Bool? {
        guard let process = ProcessIdentity.process(ofThread: thread),
            let isKept = hasDescriptor(process, forPathEndingWith: ending)
        else { return nil }
        if isKept { return true }
        return children(of: process).contains { hasDescriptor($0, forPathEndingWith: ending) == true }
    }

    /// Of all threads; none where the kernel does not say.
    private static func children(of process: Int32) -> [Int32] {
        let threads = (try? FileSystem.names(in: "/proc/\(process)/task")) ?? []
        return threads.flatMap { thread -> [Int32] in
            let bytes = (try? FileSystem.readVirtualFile("/proc/\(process)/task/\(thread)/children")) ?? []
            return bytes.split(separator: 32).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        }
    }

    private static func hasDescriptor(_ process: Int32, forPathEndingWith ending: [UInt8]) -> Bool? {
        guard process > 0, let folder = try? DirectoryHandle(path: "/proc/\(process)/fd"), let names = try? folder.names() else {
            return nil
        }
        return names.contains { name in
            // A descriptor that is closed meanwhile has none.
            guard let target = try? folder.readLinkIfPresent(name) else { return false }
            return target.count >= ending.count && target.suffix(ending.count).elementsEqual(ending)
                && canWrite(process, name)
        }
    }

    /// The source of a copy can have the same path in another folder, and is open for reading.
    private static func canWrite(_ process: Int32, _ descriptor: FileName) -> Bool {
        guard let bytes = try? FileSystem.readVirtualFile("/proc/\(process)/fdinfo/\(descriptor)") else { return false }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("flags:") {
            let digits = line.dropFirst(6).filter(\.isNumber)
            return Int(digits, radix: 8).map { $0 & Int(O_ACCMODE) != Int(O_RDONLY) } ?? true
        }
        return true
    }
}
