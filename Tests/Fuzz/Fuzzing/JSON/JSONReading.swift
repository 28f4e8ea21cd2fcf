import AppData
import BackupCore
import Formats

/// All that a tokenizer says of a document, in one row of bytes that can be compared.
struct JSONReading {
    private(set) var transcript: [UInt8] = []
    private(set) var error: BackupError?
    /// A member's name, until something is known of its value: the short way reads both or neither.
    private var pendingName: [UInt8]?

    /// - Parameter fields: whose names are asked for by the short way; none for the long way alone.
    init(_ bytes: [UInt8], bufferSizeBytes: Int, pieceSizeBytes: Int, fields: [FieldDefinition]) {
        let tokenizer = JSONTokenizer(
            WatchedSource(bytes, pieceSizeBytes: pieceSizeBytes), bufferSizeBytes: bufferSizeBytes)
        let names = KnownNames(fields)
        tokenizer.knownNames = names
        do throws(BackupError) {
            try read(tokenizer, names, fields.map { Array($0.name.utf8) })
        } catch {
            self.error = error
        }
    }

    private mutating func read(
        _ tokenizer: JSONTokenizer, _ known: KnownNames, _ names: [[UInt8]]
    ) throws(BackupError) {
        // For each open container: the first name that has not been met, as `WireReader` keeps it; nil in arrays.
        var firstUnmet: [Int?] = []
        while true {
            if let first = firstUnmet.last ?? nil, !names.isEmpty,
                let member = try tokenizer.knownMember(from: first, of: known)
            {
                pendingName = names[member.index]
                try append(member.token, tokenizer)
                firstUnmet[firstUnmet.count - 1] = member.index + 1
                continue
            }
            let token = try tokenizer.next()
            if token != .key { try append(token, tokenizer) }
            switch token {
            case .beginObject: firstUnmet.append(0)
            case .beginArray: firstUnmet.append(nil)
            case .endObject, .endArray: firstUnmet.removeLast()
            case .key:
                let text = try tokenizer.withText { (text) throws(BackupError) in Array(text) }
                if let index = names.firstIndex(of: text), let first = firstUnmet.last ?? nil {
                    firstUnmet[firstUnmet.count - 1] = max(first, index + 1)
                }
                pendingName = text
                // The value: the short way is for whole members.
                let value = try tokenizer.next()
                try append(value, tokenizer)
                if value == .beginObject { firstUnmet.append(0) }
                if value == .beginArray { firstUnmet.append(nil) }
            case .end: return
            default: break
            }
        }
    }

    private mutating func append(_ token: JSONTokenizer.Token, _ tokenizer: JSONTokenizer) throws(BackupError) {
        switch token {
        case .string, .number:
            append(token, try tokenizer.withText { (text) throws(BackupError) in Array(text) })
            if token == .number { transcript.append(tokenizer.isInteger ? 1 : 0) }
        default: append(token, [])
        }
    }

    private mutating func append(_ token: JSONTokenizer.Token, _ text: [UInt8]) {
        if let name = pendingName {
            pendingName = nil
            append(.key, name)
        }
        transcript += "\(token) \(text.count) ".utf8
        transcript += text
    }
}
