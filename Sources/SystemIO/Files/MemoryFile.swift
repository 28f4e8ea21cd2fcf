import BackupCore
import CLinux
import Glibc

extension OwnedDescriptor {
    /// A file in memory with these bytes, without a name, open for reading alone: for a program that takes a descriptor.
    public static func inMemory(_ bytes: [UInt8]) throws(BackupError) -> OwnedDescriptor {
        let name = "memory"
        let file = OwnedDescriptor(
            owning: try SystemCall.check("make a file in memory", name) { backupfs_memory_file() }, path: name)
        let number = file.rawValue
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
            guard let base = buffer.baseAddress else { return }
            var count = 0
            while count < buffer.count {
                count += try SystemCall.check("write", name) { write(number, base + count, buffer.count - count) }
            }
        }
        return try open("/proc/self/fd/\(number)", O_RDONLY)
    }
}
