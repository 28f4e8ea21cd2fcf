import BackupCore
import SystemIO

/// Reads `SHA256SUMS`, `MD5SUMS` and similar files as the programs of GNU coreutils write them: `DIGEST  PATH`, `DIGEST *PATH`,
/// and with `--tag` (as in BSD) `SHA256 (PATH) = DIGEST`. A line that begins with a backslash has an escaped path. Empty lines
/// and those that begin with `#` are skipped. The algorithm of a line without a tag is that which has digests of this length.
public final class SumsFile: ManifestReader {
    private static let lineLimitBytes = 64 << 10
    private static let backslash = UInt8(ascii: "\\")
    private static let tags: [(tag: [UInt8], algorithm: ChecksumAlgorithm)] = [
        (Array("SHA256 (".utf8), .sha256), (Array("SHA2-256 (".utf8), .sha256), (Array("SHA1 (".utf8), .sha1),
        (Array("MD5 (".utf8), .md5),
    ]

    private let path: String
    private var lines: LineFile
    /// Of the line that was read last.
    private var lineNumber: UInt64 = 0
    private var isAtEnd = false

    public init(path: String) throws(BackupError) {
        self.path = path
        lines = try LineFile(path: path, limitBytes: Self.lineLimitBytes)
    }

    /// Whether a file that begins with these bytes could be one.
    public static func isSums(_ start: [UInt8]) -> Bool {
        for line in start.split(whereSeparator: { $0 == 10 || $0 == 13 }) where line.first != UInt8(ascii: "#") {
            let text = line.first == backslash ? line.dropFirst() : line
            return tags.contains { text.starts(with: $0.tag) } || plain(text) != nil
        }
        return start.isEmpty
    }

    public func next() throws(BackupError) -> ManifestEntry? {
        while let line = try nextLine() {
            lineNumber += 1
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            return try entry(line)
        }
        return nil
    }

    private func nextLine() throws(BackupError) -> ArraySlice<UInt8>? {
        guard !isAtEnd else { return nil }
        var line = try lines.next()
        if line == nil {
            isAtEnd = true
            line = lines.rest()
        }
        // Written on Windows. A carriage return in a name is escaped.
        return line?.last == 13 ? line?.dropLast() : line
    }

    private func entry(_ line: ArraySlice<UInt8>) throws(BackupError) -> ManifestEntry {
        let isEscaped = line.first == Self.backslash
        let text = isEscaped ? line.dropFirst() : line
        guard let found = Self.tagged(text) ?? Self.plain(text),
            let name = isEscaped ? Self.unescaped(found.name) : Array(found.name)
        else { throw invalid("it is not a checksum and a path") }
        do throws(BackupError) {
            return ManifestEntry(path: try ManifestPath.checked(name), digests: [found.algorithm: found.digest])
        } catch {
            throw invalid(error.message)
        }
    }

    private func invalid(_ reason: Message) -> BackupError {
        BackupError(
            .invalidContent, "line \(lineNumber) of the manifest is not valid: \(reason)", path: path,
            remedy: "Name a file as sha256sum, sha1sum or md5sum writes it.")
    }

    // MARK: Lines

    private typealias Line = (algorithm: ChecksumAlgorithm, digest: [UInt8], name: ArraySlice<UInt8>)

    private static func plain(_ text: ArraySlice<UInt8>) -> Line? {
        guard let space = text.firstIndex(of: 32), let digest = Hexadecimal.decode(text[..<space]),
            let algorithm = ChecksumAlgorithm.allCases.first(where: { $0.byteCount == digest.count })
        else { return nil }
        let rest = text[text.index(after: space)...]
        // The second one is a space for a text, and an asterisk for a binary file.
        guard let mark = rest.first, mark == 32 || mark == UInt8(ascii: "*"), rest.count > 1 else { return nil }
        return (algorithm, digest, rest.dropFirst())
    }

    private static func tagged(_ text: ArraySlice<UInt8>) -> Line? {
        guard let (tag, algorithm) = tags.first(where: { text.starts(with: $0.tag) }) else { return nil }
        let end = Array(") = ".utf8)
        let digits = algorithm.byteCount * 2
        guard text.count > tag.count + end.count + digits, text.dropLast(digits).suffix(end.count).elementsEqual(end),
            let digest = Hexadecimal.decode(text.suffix(digits))
        else { return nil }
        return (algorithm, digest, text.dropFirst(tag.count).dropLast(digits + end.count))
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var isAfterBackslash = false
        for byte in text {
            guard isAfterBackslash else {
                if byte == backslash { isAfterBackslash = true } else { output.append(byte) }
                continue
            }
            isAfterBackslash = false
            switch byte {
            case UInt8(ascii: "n"): output.append(10)
            case UInt8(ascii: "r"): output.append(13)
            case backslash: output.append(byte)
            default: return nil
            }
        }
        return isAfterBackslash ? nil : output
    }
}
