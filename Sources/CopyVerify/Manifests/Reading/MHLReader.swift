import BackupCore
import SystemIO

/// Reads one generation of an ASC MHL history, or a packing list.
final class MHLReader: XMLStreamHandler {
    /// What a generation says of a file or folder.
    struct Hash {
        var path: [UInt8] = []
        var size: UInt64?
        /// Those that did not fail.
        var digests = FileDigests()
        /// Where it was before, if it was renamed.
        var previousPath: [UInt8]?
        let isFolder: Bool
    }

    /// What a generation says besides its files.
    struct Remainder {
        /// Patterns of names that the history leaves out.
        var ignoredPatterns: [String] = []
        /// Generations of histories below this one.
        var references: [Reference] = []
    }

    struct Reference {
        /// Below the folder that the list is about.
        let path: [UInt8]
        let c4: SHA512Digest
    }

    private static let referenceLimit = 100_000
    /// Of all patterns together.
    private static let patternLimitBytes = 4 << 20

    private let path: String
    private let body: (Hash) throws(BackupError) -> Void
    private var hash: Hash?
    private var attributes: [String: String] = [:]
    private var depth = 0
    /// The depth of the element whose content is not looked at.
    private var skippedDepth: Int?
    private var isHashList = false
    /// The path of the reference whose C4 ID comes next.
    private var referencePath: [UInt8]?
    private var isInReference = false
    private var remainder = Remainder()
    private var patternByteCount = 0

    /// - Parameter body: called for each file and folder.
    private init(_ path: String, _ body: @escaping (Hash) throws(BackupError) -> Void) {
        self.path = path
        self.body = body
    }

    @discardableResult
    static func read(
        _ path: String, _ body: @escaping (Hash) throws(BackupError) -> Void
    ) throws(BackupError) -> Remainder {
        let reader = MHLReader(path, body)
        do throws(BackupError) {
            try XMLStream.read(SharedFile(path: path), path: path, reader)
        } catch let error where error.code == .invalidContent && error.remedy == nil {
            throw ManifestEntry.invalid(error.message, path)
        }
        guard reader.isHashList else { throw ManifestEntry.invalid("it is no ASC MHL list", path) }
        return reader.remainder
    }

    func begin(_ name: String, _ attributes: [String: String]) throws(BackupError) {
        depth += 1
        self.attributes = attributes
        if skippedDepth != nil { return }
        switch name {
        case "hashlist" where depth == 1: isHashList = true
        case "hash": hash = Hash(isFolder: false)
        case "directoryhash": hash = Hash(isFolder: true)
        case "hashlistreference": isInReference = true
        case "metadata", "roothash", "creatorinfo", "content", "structure": skippedDepth = depth
        default: break
        }
    }

    func end(_ name: String, text: String) throws(BackupError) {
        defer { depth -= 1 }
        if let skippedDepth {
            if depth == skippedDepth { self.skippedDepth = nil }
            return
        }
        switch name {
        case "pattern":
            patternByteCount += text.utf8.count + 1
            guard patternByteCount <= Self.patternLimitBytes else {
                throw ManifestEntry.invalid("it has too many patterns of names that are left out", path)
            }
            remainder.ignoredPatterns.append(text)
        case "path" where isInReference: referencePath = try ManifestEntry.safePath(text.utf8, in: path)
        case "c4" where isInReference: try takeReference(text)
        case "hashlistreference":
            isInReference = false
            guard referencePath == nil else { throw ManifestEntry.invalid("a reference to another list has no C4 ID", path) }
        // The folder itself has its hash elsewhere.
        case "path" where hash?.isFolder == true && (text == "." || text == "./"): hash = nil
        case "path" where hash != nil:
            hash?.path = try ManifestEntry.safePath(text.utf8, in: path)
            hash?.size = attributes["size"].flatMap { UInt64($0) }
        case "previousPath" where hash != nil: hash?.previousPath = try ManifestEntry.safePath(text.utf8, in: path)
        case "hash", "directoryhash":
            guard let hash else { return }
            guard !hash.path.isEmpty else { throw ManifestEntry.invalid("a checksum names no file", path) }
            self.hash = nil
            try body(hash)
        default: try take(name, text)
        }
    }

    private func takeReference(_ text: String) throws(BackupError) {
        guard let place = referencePath, let c4 = C4ID.decode(text) else {
            throw ManifestEntry.invalid("a reference to another list has no path and C4 ID", path)
        }
        guard remainder.references.count < Self.referenceLimit else {
            throw ManifestEntry.invalid("it refers to too many lists", path)
        }
        remainder.references.append(Reference(path: place, c4: c4))
        referencePath = nil
    }

    private func take(_ name: String, _ text: String) throws(BackupError) {
        guard hash != nil, let algorithm = HashAlgorithm(rawValue: name), MHLFormat.algorithms.contains(algorithm),
            attributes["action"] != "failed"
        else { return }
        guard hash?.digests.set(algorithm, text) == true else {
            throw ManifestEntry.invalid("this is no \(name) of a file: \(MessageText.shortened(text))", path)
        }
    }
}
