import BackupCore
import ObjectStorage
import SystemIO

/// What the last update of a mirror knew of its small objects that can change: the checksum of their bytes and their versions. It
/// saves the requests that would compare them. A lost or wrong state costs these requests, and nothing else.
public struct MirrorState: Equatable, Sendable {
    private static let magic = "backupfs-mirror-state"

    private struct Known: Equatable {
        let sha256: SHA256Digest
        let version: ObjectVersion
    }

    private var objects: [ObjectName: Known] = [:]

    public init() {}

    /// From the bytes of `encoded`. What is unreadable in them is unknown.
    public init(decoding bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first == Substring(Self.magic), lines.last?.isEmpty == true else { return }
        add(lines.dropFirst())
    }

    /// Adds lines from `line(for:)`. What is unreadable in them, or was cut off at the end, is unknown.
    mutating func add(lines bytes: [UInt8]) {
        add(String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)[...])
    }

    /// - Parameter lines: after the last one there is no newline.
    private mutating func add(_ lines: ArraySlice<Substring>) {
        for line in lines.dropLast() {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3, let digest = SHA256Digest(hexadecimal: parts[0]), let name = ObjectName(parts[1]) else {
                continue
            }
            objects[name] = Known(sha256: digest, version: ObjectVersion(parts[2]))
        }
    }

    /// For a file: a line for each object.
    public var encoded: [UInt8] {
        let lines = objects.sorted { $0.key < $1.key }.map { Self.line($0, $1) }
        return Array(([Self.magic + "\n"] + lines).joined().utf8)
    }

    /// The line of an object, with its newline; empty for an unknown one.
    func line(for name: ObjectName) -> [UInt8] { objects[name].map { Array(Self.line(name, $0).utf8) } ?? [] }

    private static func line(_ name: ObjectName, _ known: Known) -> String {
        "\(known.sha256.hexadecimal) \(name) \(known.version.text)\n"
    }

    func has(_ name: ObjectName, _ sha256: SHA256Digest, _ version: ObjectVersion) -> Bool {
        objects[name] == Known(sha256: sha256, version: version)
    }

    /// The version that was noted; `nil` for an unknown object.
    func version(of name: ObjectName) -> ObjectVersion? { objects[name]?.version }

    /// The checksum that was noted; `nil` for an unknown object.
    func sha256(of name: ObjectName) -> SHA256Digest? { objects[name]?.sha256 }

    mutating func note(_ name: ObjectName, _ sha256: SHA256Digest, _ version: ObjectVersion) {
        // A version is a line of a file.
        guard !version.text.contains("\n") else { return }
        objects[name] = Known(sha256: sha256, version: version)
    }

    /// Forgets the other objects.
    mutating func keep(where isKept: (ObjectName) -> Bool) { objects = objects.filter { isKept($0.key) } }
}
