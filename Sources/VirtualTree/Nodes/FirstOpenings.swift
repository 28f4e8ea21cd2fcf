import BackupCore
import SystemIO

/// The first opening of a small file, which hands its whole content to the kernel: most programs read such a file once,
/// completely and at once, and a request for each read costs more than the bytes.
///
/// The kernel takes the content only while it is not reading it: it waits for the answer to a read of the same page, which
/// could itself wait here. So the content is handed over only if no other program has opened the file by then, and meanwhile
/// every other opening of that file waits. It does not wait while the content is read from the storage, which may not respond.
final class FirstOpenings: Sendable {
    /// In bytes. The kernel would read a larger file ahead, in few requests.
    static let sizeLimitBytes: UInt64 = 64 << 10

    /// The files of which an opening is being noted, or whose content is being handed over.
    private let busy = Monitor(Set<InodeNumber>())

    /// Runs `body`, which must not wait for the storage, while no other thread does this for that file.
    func run<Result>(_ inode: InodeNumber, _ body: () -> Result) -> Result {
        busy.wait(until: { !$0.contains(inode) }) { _ = $0.insert(inode) }
        defer { busy.changeWakingAll { _ = $0.remove(inode) } }
        return body()
    }

    /// Whether a file of this size comes with its opening, in bytes. An empty one needs no read anyway.
    static func isSmall(_ size: UInt64) -> Bool { size > 0 && size <= sizeLimitBytes }

    /// The whole content of a small file, checked as in any read; `nil` if it cannot be read: the program's own read then gets
    /// the error.
    /// - Parameter size: that the kernel knows, in bytes.
    static func content(of open: any OpenFile, size: UInt64) -> [UInt8]? {
        guard open.keepsCache, open.size == size else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        let count = try? bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try open.read(at: 0, into: buffer)
        }
        return count == bytes.count ? bytes : nil
    }
}
