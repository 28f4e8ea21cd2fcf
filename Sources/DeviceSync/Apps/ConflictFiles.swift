import AppData
import BackupCore
import Formats
import SystemIO

/// Values that lost, as files that people can read: `entries 3F2A… (conflict 1a2b3c4d).json`, named after the record and the
/// device that had set them.
public struct ConflictFiles: ConflictKeeper {
    private static let keyLimitBytes = 100
    private static let numberLimit = 100_000

    /// Made when it is needed.
    private let folder: String
    private let noteNew: (_ path: String) -> Void

    /// - Parameter noteNew: called with the path of each new file.
    public init(folder: String, noteNew: @escaping (_ path: String) -> Void = { _ in }) {
        self.folder = folder
        self.noteNew = noteNew
    }

    /// How many there are.
    public static func count(in folder: String) -> Int {
        ((try? FileSystem.names(in: folder)) ?? []).count { $0.description.hasSuffix(".json") }
    }

    public func keep(_ conflict: RecordConflict) throws(BackupError) -> Bool {
        let text = Self.document(conflict).prettyText
        try FileSystem.makeDirectories(folder)
        for number in 1...Self.numberLimit {
            let path = "\(folder)/\(Self.name(conflict, number)).json"
            if try FileSystem.exists(path) {
                // Another one of the same record and device.
                guard (try? FileSystem.readFile(path, limitBytes: text.count)) != text else { return false }
                continue
            }
            try FileSystem.writeFileAtomically(path, text)
            noteNew(path)
            return true
        }
        throw BackupError(
            .noSpace, "there are too many conflicts of one record", path: folder,
            remedy: "Look at the files there, and remove them.")
    }

    private static func name(_ conflict: RecordConflict, _ number: Int) -> String {
        let suffix = number == 1 ? "" : " \(number)"
        return "\(fileName(conflict.collection)) \(keyText(conflict.key)) (conflict \(conflict.stamp.device.shortText))\(suffix)"
    }

    private static func keyText(_ key: FieldValue) -> String {
        guard case .text(let bytes) = key, bytes.count <= keyLimitBytes, let text = String(validating: bytes, as: UTF8.self)
        else {
            var writer = ByteWriter()
            writer.append(key)
            return String(SHA256Hasher.hash(writer.bytes).hexadecimal.prefix(32))
        }
        return fileName(text)
    }

    private static func fileName(_ text: String) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            let isPlain = scalar.value >= 0x20 && scalar != "/" && scalar != "\\" && !(0x7F...0x9F).contains(scalar.value)
            name.unicodeScalars.append(isPlain ? scalar : "_")
        }
        return name.hasPrefix(".") ? "_" + name.dropFirst() : name
    }

    // MARK: Content

    private static func document(_ conflict: RecordConflict) -> OrderedJSON {
        let record = zip(conflict.fields, conflict.values).map { OrderedJSON.Member($0, json($1)) }
        return [
            "collection": conflict.collection, "key": json(conflict.key), "device": conflict.stamp.device.description,
            "changedAt": time(conflict.stamp), "laterDevice": conflict.winner.device.description,
            "laterChangedAt": time(conflict.winner), "record": OrderedJSON.object(record),
        ]
    }

    /// `nil` for a record that was there before the device knew of others.
    private static func time(_ stamp: ChangeStamp) -> Timestamp? {
        guard stamp.milliseconds > 0 else { return nil }
        return Timestamp(seconds: Int64(clamping: stamp.milliseconds / 1_000))
    }

    /// As in exports; what JSON cannot express as in those of databases without a definition.
    private static func json(_ value: FieldValue) -> OrderedJSON {
        switch value {
        case .null: return .null
        case .integer(let number): return .integer(number)
        case .real(let number):
            guard number.isFinite else { return .object([OrderedJSON.Member("real", "\(number)")]) }
            return .decimal(number)
        case .boolean(let flag): return .boolean(flag)
        case .text(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return .object([OrderedJSON.Member("text", base64(bytes))])
            }
            return .text(text)
        case .blob(let bytes): return .object([OrderedJSON.Member("blob", base64(bytes))])
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { Base64.encode($0) } }
}
