import Glibc

/// A search through all processes of the machine. With C functions alone: with arrays, strings and errors, which a debug build is
/// slow with, it took more of the processor than anything else in the tests that wait for a process to end.
enum ProcessTable {
    /// All processes but this one.
    static func numbers() -> [pid_t] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        let own = getpid()
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            // Zero for a name that is no number.
            let number = withUnsafePointer(to: &entry.pointee.d_name) {
                pid_t(atoi(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)))
            }
            if number > 0, number != own { found.append(number) }
        }
        return found
    }

    /// Whether a file of a process in procfs contains a text.
    /// - Parameter name: `environ` or `cmdline`.
    /// - Returns: `nil` if it is empty, as that of a kernel thread or of a process that has ended, or cannot be read.
    static func has(_ text: String, in name: String, of number: pid_t) -> Bool? {
        let file = open("/proc/\(number)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // Arguments and environment together take no more than a quarter of the stack's limit, which is 8 MiB as a rule.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 << 20) { buffer -> Bool? in
            guard let start = buffer.baseAddress else { return nil }
            var count = 0
            while count < buffer.count - 1 {
                let got = read(file, start + count, buffer.count - 1 - count)
                if got <= 0 { break }
                count += got
            }
            guard count > 0 else { return nil }
            start[count] = 0
            // Texts, each of which ends with a zero byte.
            var offset = 0
            while offset < count {
                if strstr(start + offset, text) != nil { return true }
                offset += strlen(start + offset) + 1
            }
            return false
        }
    }
}
