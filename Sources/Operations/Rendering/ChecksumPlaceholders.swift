import AppData
import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A media folder in which unread files have placeholder checksums of the right length. So an export has its exact size before
/// any file is read. Placeholders begin with random bytes, so no other bytes of an export can be mistaken for one.
final class ChecksumPlaceholders: MediaCatalog {
    private static let indexByteCount = 4

    private let catalog: any MediaCatalog
    private let md5Start: [UInt8]
    private let sha256Start: [UInt8]
    private let known = Mutex<(indexes: [[UInt8]: Int], paths: [[UInt8]])>(([:], []))

    init(_ catalog: any MediaCatalog) {
        self.catalog = catalog
        var generator = SystemRandomNumberGenerator()
        func random(_ count: Int) -> [UInt8] { (0..<count - Self.indexByteCount).map { _ in generator.next() } }
        md5Start = random(MD5Digest.byteCount)
        sha256Start = random(SHA256Digest.byteCount)
    }

    /// Whether any file's checksums are unknown.
    var areUsed: Bool { known.withLock { !$0.paths.isEmpty } }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? { try catalog.file(at: path).map(filled) }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try catalog.forEachFile { (file) throws(BackupError) in try body(filled(file)) }
    }

    func state() throws(BackupError) -> String? { try catalog.state() }

    private func filled(_ file: MediaFileFacts) -> MediaFileFacts {
        guard file.checksums == nil else { return file }
        let index = known.withLock { known in
            if let index = known.indexes[file.path] { return index }
            known.indexes[file.path] = known.paths.count
            known.paths.append(file.path)
            return known.paths.count - 1
        }
        let end = withUnsafeBytes(of: UInt32(index).bigEndian) { Array($0) }
        guard let md5 = MD5Digest(bytes: md5Start + end), let sha256 = SHA256Digest(bytes: sha256Start + end),
            let sha1 = SHA1Digest(bytes: [UInt8](repeating: 0, count: SHA1Digest.byteCount))
        else { return file }
        return MediaFileFacts(
            path: file.path, size: file.size, modificationTime: file.modificationTime,
            checksums: Checksums(crc32: 0, md5: md5, sha1: sha1, sha256: sha256))
    }

    /// Replaces the placeholders with the real checksums.
    /// - Parameter checksums: the checksums of the file at a path relative to the media folder.
    func replace(
        in text: inout [UInt8], by checksums: ([UInt8]) throws(BackupError) -> Checksums
    ) throws(BackupError) {
        let paths = known.withLock { $0.paths }
        var found: [Int: Checksums] = [:]
        for (start, isMD5) in [(md5Start, true), (sha256Start, false)] {
            let start = Hexadecimal.encodeToUTF8(start)
            var position = 0
            while let place = Self.place(of: start, in: text, from: position) {
                let indexPlace = place + start.count
                position = indexPlace + Self.indexByteCount * 2
                guard position <= text.count, let digits = Hexadecimal.decode(text[indexPlace..<position]) else { continue }
                let index = digits.reduce(0) { $0 << 8 | Int($1) }
                guard paths.indices.contains(index) else { continue }
                let right: Checksums
                if let known = found[index] { right = known } else { right = try checksums(paths[index]) }
                found[index] = right
                text.replaceSubrange(
                    place..<position, with: Hexadecimal.encodeToUTF8(isMD5 ? right.md5.bytes : right.sha256.bytes))
            }
        }
    }

    private static func place(of pattern: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        text.withUnsafeBytes { text in
            guard let base = text.baseAddress, let first = pattern.first else { return nil }
            var position = start
            while position + pattern.count <= text.count {
                guard let found = memchr(base + position, Int32(first), text.count - position) else { return nil }
                position = UnsafeRawPointer(found) - base
                guard position + pattern.count <= text.count else { return nil }
                if memcmp(base + position, pattern, pattern.count) == 0 { return position }
                position += 1
            }
            return nil
        }
    }
}

/// Notes whether a media folder was asked for a file with unknown checksums.
final class UnknownChecksums: MediaCatalog {
    private let catalog: any MediaCatalog
    private let found = Mutex(false)

    init(_ catalog: any MediaCatalog) { self.catalog = catalog }

    var areThere: Bool { found.withLock { $0 } }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? { try catalog.file(at: path).map(noted) }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try catalog.forEachFile { (file) throws(BackupError) in try body(noted(file)) }
    }

    func state() throws(BackupError) -> String? { try catalog.state() }

    private func noted(_ file: MediaFileFacts) -> MediaFileFacts {
        if file.checksums == nil { found.withLock { $0 = true } }
        return file
    }
}
