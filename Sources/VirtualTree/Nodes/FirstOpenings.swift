import BackupCore
import SystemIO

/// The first opening of a small file, which hands its whole content to the kernel: most programs read such a file once,
/// completely and at once, and a request for each read costs more than the bytes.
///
/// The kernel takes the content only while it is not reading it: it waits for the answer to a read of the same page, which
/// could itself wait here. So the content is handed over before any program has the file open, and meanwhile every other opening
/// of that file waits.
final class FirstOpenings: Sendable {
    /// In bytes. The kernel would read a larger file ahead, in few requests.
    static let sizeLimitBytes: UInt64 = 64 << 10

    /// The files that are being opened now.
    private let busy = Monitor(Set<InodeNumber>())

    /// Opens a file that no other thread is opening meanwhile.
    func run<Result>(_ inode: InodeNumber, _ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        busy.wait(until: { !$0.contains(inode) }) { _ = $0.insert(inode) }
        defer { busy.changeWakingAll { _ = $0.remove(inode) } }
        return try body()
    }

    /// The whole content, checked as in any read; `nil` if the file is not small, or cannot be read: the program's own read then
    /// gets the error.
    /// - Parameter size: that the kernel knows, in bytes.
    static func content(of open: any OpenFile, size: UInt64) -> [UInt8]? {
        guard size > 0, size <= sizeLimitBytes, open.keepsCache, open.size == size else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        let count = try? bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try open.read(at: 0, into: buffer)
        }
        return count == bytes.count ? bytes : nil
    }
}
