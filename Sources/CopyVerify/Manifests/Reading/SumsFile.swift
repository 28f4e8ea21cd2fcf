import BackupCore
import SystemIO

/// Reads a list of sha256sum(1) and its relatives, with the escapes of coreutils, also in the style of BSD.
public struct SumsFile: ~Copyable {
    private static let backslash = UInt8(ascii: "\\")
    /// Of a path and its digest.
    static let lineLimitBytes = 64 << 10

    private let path: String
    /// What a digest of 32 or 16 digits is.
    private let shortAlgorithms: (digits32: HashAlgorithm, digits16: HashAlgorithm)
    private var lines: LineFile
    /// Of the line that was read last.
    private var lineNumber = 0

    public init(path: String) throws(BackupError) {
        self.path = path
        let name = FileSystem.lastComponent(path).lowercased()
        shortAlgorithms = (name.contains("xxh") ? .xxh128 : .md5, name.contains("xxh3") ? .xxh3 : .xxh64)
        lines = try LineFile(path: path, lineLimitBytes: Self.lineLimitBytes)
    }

    /// Whether a file that begins with these bytes could be one.
    static func isSums(_ start: [UInt8], path: String) -> Bool {
        guard let file = try? SumsFile(path: path) else { return false }
        let line = start.split(whereSeparator: { $0 == 10 || $0 == 13 }).first { !isComment($0) }
        guard let line else { return start.isEmpty }
        // A path that leads out of the folder is an error of a list.
        do throws(BackupError) {
            let text = Array(line)
            if try file.bsdEntry(text) != nil { return true }
            return try file.entry(text) != nil
        } catch {
            return true
        }
    }

    private static func isComment(_ line: some Collection<UInt8>) -> Bool {
        line.isEmpty || line.first == UInt8(ascii: "#") || line.first == UInt8(ascii: ";")
    }

    /// The next file; `nil` at the end. Empty lines and comments are left out.
    public mutating func next() throws(BackupError) -> ManifestEntry? {
        while let line = try nextLine() {
            lineNumber += 1
            if Self.isComment(line) { continue }
            do throws(BackupError) {
                if let entry = try bsdEntry(line) { return entry }
                if let entry = try entry(line) { return entry }
                throw ManifestEntry.invalid("a line is no checksum of a file: \(MessageText.shortened(line))", path)
            } catch {
                throw error.with(nil, "line \(lineNumber): \(error.message)")
            }
        }
        return nil
    }

    /// Without the end of line of Windows.
    private mutating func nextLine() throws(BackupError) -> [UInt8]? {
        guard let line = try lines.nextOrRest() else { return nil }
        return Array(line.last == 13 ? line.dropLast() : line)
    }

    /// `DIGEST  PATH`, `DIGEST *PATH`, with a backslash before it when the path has escapes.
    private func entry(_ line: [UInt8]) throws(BackupError) -> ManifestEntry? {
        let isEscaped = line.first == Self.backslash
        let text = line.dropFirst(isEscaped ? 1 : 0)
        guard let end = text.firstIndex(where: { $0 == 32 || $0 == 9 }) else { return nil }
        let digest = text[..<end]
        // Some programs write one space.
        var name = text[(end + 1)...]
        if let mark = name.first, mark == 32 || mark == UInt8(ascii: "*") { name = name.dropFirst() }
        guard let algorithm = algorithm(of: digest) else { return nil }
        return try entry(algorithm, digest, name, isEscaped: isEscaped)
    }

    /// `ALGORITHM (PATH) = DIGEST`.
    private func bsdEntry(_ line: [UInt8]) throws(BackupError) -> ManifestEntry? {
        let isEscaped = line.first == Self.backslash
        let text = line.dropFirst(isEscaped ? 1 : 0)
        let middle = Array(") = ".utf8)
        guard let open = text.firstIndex(of: UInt8(ascii: "(")), open > text.startIndex, text[open - 1] == 32,
            let equals = text.lastIndex(of: UInt8(ascii: "=")), equals > open + 2, text.count - (equals - text.startIndex) > 2,
            text[(equals - 2)...].starts(with: middle)
        else { return nil }
        let word = String(decoding: text[..<(open - 1)], as: UTF8.self).lowercased().filter { $0 != "-" && $0 != "_" }
        let digest = text[(equals + 2)...]
        let known: [String: HashAlgorithm] = [
            "md5": .md5, "sha1": .sha1, "sha256": .sha256, "sha512": .c4, "xxh64": .xxh64, "xxh3": .xxh3, "xxh128": .xxh128,
        ]
        guard let algorithm = known[word], algorithm == .xxh3 || digest.count == Self.digitCount(algorithm) else { return nil }
        return try entry(algorithm, digest, text[(open + 1)..<(equals - 2)], isEscaped: isEscaped)
    }

    private static func digitCount(_ algorithm: HashAlgorithm) -> Int {
        switch algorithm {
        case .md5, .xxh128: 32
        case .sha1: 40
        case .sha256: 64
        case .c4: 128
        case .xxh64, .xxh3: 16
        }
    }

    private func algorithm(of digest: ArraySlice<UInt8>) -> HashAlgorithm? {
        switch digest.count {
        case 16: shortAlgorithms.digits16
        case 32: shortAlgorithms.digits32
        case 40: .sha1
        case 64: .sha256
        case 128: .c4
        default: nil
        }
    }

    private func entry(
        _ algorithm: HashAlgorithm, _ digest: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>, isEscaped: Bool
    ) throws(BackupError) -> ManifestEntry? {
        var digests = FileDigests()
        let text = String(decoding: digest, as: UTF8.self)
        if algorithm == .c4 {
            digests.c4 = SHA512Digest(hexadecimal: text)
        } else {
            digests.set(algorithm, text)
        }
        guard digests.has(algorithm), let bytes = isEscaped ? Self.unescaped(name) : Array(name) else { return nil }
        return ManifestEntry(path: try ManifestEntry.safePath(bytes, in: path), size: nil, digests: digests)
    }

    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = name
        while let byte = rest.popFirst() {
            guard byte == backslash else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case backslash: bytes.append(backslash)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            default: return nil
            }
        }
        return bytes
    }
}
