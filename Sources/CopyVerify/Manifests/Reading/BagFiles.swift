import BackupCore
import SystemIO

/// The lists of a bag (RFC 8493): `manifest-sha256.txt` and its relatives, and those of the tag files.
enum BagFiles {
    static let declaration = ListName.bagDeclaration
    private static let declarationLimitBytes = 4_096
    private static let algorithms: [String: HashAlgorithm] = [
        "md5": .md5, "sha1": .sha1, "sha256": .sha256, "sha512": .c4, "xxh128": .xxh128, "xxh64": .xxh64,
    ]

    /// Whether names have percent signs encoded: since version 1.0.
    static func encodesPercent(_ folder: String) throws(BackupError) -> Bool {
        let text = try FileSystem.readFile("\(folder)/\(declaration)", limitBytes: declarationLimitBytes)
        let line = String(decoding: text.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
        guard let colon = line.firstIndex(of: ":"), line[..<colon].hasSuffix("BagIt-Version") else {
            throw ManifestEntry.invalid("the bag does not say its version", "\(folder)/\(declaration)")
        }
        return !line[line.index(after: colon)...].drop { $0 == " " }.hasPrefix("0.")
    }

    /// Passes on what a list of the bag says.
    static func read(
        _ path: String, encodesPercent: Bool, _ body: (ManifestEntry) throws(BackupError) -> Void
    ) throws(BackupError) {
        let name = FileSystem.lastComponent(path)
        let word = name.dropLast(4).split(separator: "-").last.map { $0.lowercased() } ?? ""
        // An algorithm that this program does not have proves nothing here.
        guard let algorithm = algorithms[word] else { return }
        var lines = try LineFile(path: path, lineLimitBytes: SumsFile.lineLimitBytes)
        while let line = try lines.nextOrRest() {
            let text = line.last == 13 ? line.dropLast() : line
            if text.isEmpty { continue }
            guard let end = text.firstIndex(where: { $0 == 32 || $0 == 9 }),
                let start = text[end...].firstIndex(where: { $0 != 32 && $0 != 9 && $0 != UInt8(ascii: "*") })
            else { throw ManifestEntry.invalid("a line is no checksum of a file: \(MessageText.shortened(text))", path) }
            var digests = FileDigests()
            let digest = String(decoding: text[..<end], as: UTF8.self)
            if algorithm == .c4 { digests.c4 = SHA512Digest(hexadecimal: digest) } else { digests.set(algorithm, digest) }
            guard digests.has(algorithm) else {
                throw ManifestEntry.invalid("a line is no checksum of a file: \(MessageText.shortened(text))", path)
            }
            let bytes = decoded(text[start...], encodesPercent: encodesPercent)
            try body(ManifestEntry(path: try ManifestEntry.safePath(bytes, in: path), size: nil, digests: digests))
        }
    }

    /// Only these three characters are ever encoded.
    private static func decoded(_ name: ArraySlice<UInt8>, encodesPercent: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = name
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            switch String(decoding: rest.prefix(2), as: UTF8.self).lowercased() {
            case "0d": bytes.append(13)
            case "0a": bytes.append(10)
            case "25" where encodesPercent: bytes.append(byte)
            default:
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
