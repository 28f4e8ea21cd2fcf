import BackupCore
import BackupRepository
import Synchronization

/// `SHA256SUMS` and `MD5SUMS` of a folder: every file below it, in the order of its entries.
extension ChecksumListing {
    /// In the order in which archives have the listings.
    public enum Algorithm: Sendable, CaseIterable {
        case md5
        case sha256

        /// The listing's name, beside the files that it lists.
        public var fileName: FileName {
            switch self {
            case .md5: "MD5SUMS"
            case .sha256: "SHA256SUMS"
            }
        }

        var digestHexLength: Int {
            switch self {
            case .md5: MD5Digest.byteCount * 2
            case .sha256: SHA256Digest.byteCount * 2
            }
        }

        func hexadecimal(_ checksums: Checksums) -> String {
            switch self {
            case .md5: checksums.md5.hexadecimal
            case .sha256: checksums.sha256.hexadecimal
            }
        }
    }

    private static let reservedByteLimit: UInt64 = 1 << 20

    /// The listing itself. Of a stored folder, it reads the directory objects, and a derived file whose digests are not known
    /// yet.
    /// - Throws: `repositoryDamaged`; `inputOutput` when a live file has changed since it was listed.
    public static func text(of root: some ContentFolder, _ algorithm: Algorithm) throws(BackupError) -> [UInt8] {
        try text(of: root, algorithm) { (file, folder) throws(BackupError) in try folder.checksums(of: file) }
    }

    /// The same for looking for damage. The digest of a derived file that cannot be read is all zeros: `sha256sum -c` then names
    /// this file, and checks the others. Such a listing is only true for the moment, since a disk may come back.
    /// - Throws: as there, for a folder that is damaged.
    public static func readableText(
        of root: some ContentFolder, _ algorithm: Algorithm
    ) throws(BackupError) -> (bytes: [UInt8], isComplete: Bool) {
        var isComplete = true
        let bytes = try text(of: root, algorithm) { (file, folder) throws(BackupError) in
            let checksums = try folder.checksumsIfReadable(of: file)
            if checksums == nil { isComplete = false }
            return checksums
        }
        return (bytes, isComplete)
    }

    /// - Parameter checksums: of a file in a folder; zeros take the place of `nil`.
    private static func text<Folder: ContentFolder>(
        of root: Folder, _ algorithm: Algorithm,
        _ checksums: (Folder.Entry, Folder) throws(BackupError) -> Checksums?
    ) throws(BackupError) -> [UInt8] {
        var text: [UInt8] = []
        // A hostile repository may claim any size, so the reservation is limited.
        text.reserveCapacity(Int(min(try root.listingSizeBytes(algorithm), reservedByteLimit)))
        try root.forEachFile { (file, folder, path) throws(BackupError) in
            let digest = try checksums(file, folder).map(algorithm.hexadecimal)
            text += line(digest: digest ?? String(repeating: "0", count: algorithm.digestHexLength), path: path)
        }
        return text
    }
}

extension ContentFolder {
    /// Passes every file with its folder and its path.
    /// - Parameter byPath: in ascending byte order of the paths, instead of the order of a listing.
    func forEachFile(
        prefix: [UInt8] = [], byPath: Bool = false, _ body: (Entry, Self, [UInt8]) throws(BackupError) -> Void
    ) throws(BackupError) {
        func precedes(_ left: Entry, _ right: Entry) -> Bool {
            MediaOrder.precedes((left.name, left.kind == .directory), (right.name, right.kind == .directory))
        }
        for entry in byPath ? entries.sorted(by: precedes) : entries {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .symbolicLink: continue
            case .directory: try folder(entry).forEachFile(prefix: path + [UInt8(ascii: "/")], byPath: byPath, body)
            case .file: try body(entry, self, path)
            }
        }
    }

    /// The size of the listing, from a walk.
    public func listingSizeBytes(_ algorithm: ChecksumListing.Algorithm) throws(BackupError) -> UInt64 {
        let digest = String(repeating: "0", count: algorithm.digestHexLength)
        var size: UInt64 = 0
        try forEachFile { (_, _, path) throws(BackupError) in
            size += UInt64(ChecksumListing.line(digest: digest, path: path).count)
        }
        return size
    }
}

/// Bytes that are made when they are read: a checksum listing in an archive, or an export whose checksums are filled in.
public final class MadeBytes: ByteSource {
    private let isKept: Bool
    private let make: @Sendable () throws(BackupError) -> [UInt8]
    private let made = Mutex<[UInt8]?>(nil)

    /// - Parameter isKept: whether they stay in memory; otherwise they are released at the end of a read to the end.
    public init(isKept: Bool, _ make: @escaping @Sendable () throws(BackupError) -> [UInt8]) {
        self.isKept = isKept
        self.make = make
    }

    /// Makes them.
    public func bytes() throws(BackupError) -> [UInt8] {
        if let bytes = made.withLock({ $0 }) { return bytes }
        let bytes = try make()
        if isKept { made.withLock { $0 = bytes } }
        return bytes
    }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let bytes = try bytes()
        guard offset < UInt64(bytes.count) else { return 0 }
        let part = bytes[Int(offset)...].prefix(buffer.count)
        part.withUnsafeBytes { buffer.copyMemory(from: $0) }
        if !isKept { made.withLock { $0 = part.endIndex == bytes.endIndex ? nil : bytes } }
        return part.count
    }
}
