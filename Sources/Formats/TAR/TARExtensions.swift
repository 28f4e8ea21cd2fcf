import BackupCore

/// The headers before a member's header, for data that does not fit into it: pax extended headers, and GNU's long names.
struct TARExtensions {
    enum Kind {
        case extended
        case global
        case longName
        case longTarget

        /// `nil` for the header of a member.
        init?(type: UInt8) {
            switch type {
            case TARFormat.extendedHeaderType: self = .extended
            case TARFormat.globalHeaderType: self = .global
            case TARFormat.longNameType: self = .longName
            case TARFormat.longTargetType: self = .longTarget
            default: return nil
            }
        }
    }

    /// The only character sets that do not matter: names are bytes.
    private static let characterSets = ["ISO-IR 10646 2000 UTF-8", "BINARY"]

    private(set) var path: [UInt8]?
    /// The position of a link's target in the archive.
    private(set) var linkTarget: (offset: UInt64, count: Int)?
    private(set) var size: UInt64?
    private(set) var modificationTime: Timestamp?
    private var hasExtended = false

    var isEmpty: Bool { !hasExtended && path == nil && linkTarget == nil }

    /// - Parameter offset: where `data` starts in the archive.
    /// - Throws: `damagedContent`, `invalidContent`.
    mutating func read(_ kind: Kind, _ data: ArraySlice<UInt8>, at offset: UInt64) throws(BackupError) {
        switch kind {
        case .longName: try setPath(Self.longText(data, at: offset))
        case .longTarget: try setTarget(offset, Self.longText(data, at: offset).count)
        case .extended:
            guard !hasExtended else { throw Self.refused(offset, "a second extended header for one entry") }
            hasExtended = true
            try readRecords(data, at: offset, isGlobal: false)
        case .global: try readRecords(data, at: offset, isGlobal: true)
        }
    }

    /// A text and its terminating NUL.
    private static func longText(_ data: ArraySlice<UInt8>, at offset: UInt64) throws(BackupError) -> ArraySlice<UInt8> {
        let text = data.prefix { $0 != 0 }
        guard !text.isEmpty, data.dropFirst(text.count).allSatisfy({ $0 == 0 }) else {
            throw refused(offset, "a long name that is empty or has a NUL in it")
        }
        return text
    }

    private mutating func readRecords(_ data: ArraySlice<UInt8>, at offset: UInt64, isGlobal: Bool) throws(BackupError) {
        var seen: Set<String> = []
        var rest = data
        while !rest.isEmpty {
            guard let record = PAXRecords.first(of: rest) else { throw Self.refused(offset, "a malformed extended header") }
            let place = offset + UInt64(record.value.startIndex - data.startIndex)
            // Some programs use the last one, others the first.
            guard seen.insert(record.keyword).inserted else {
                throw Self.refused(offset, "\(MessageText.shortened(record.keyword)) twice")
            }
            try apply(record.keyword, record.value, at: place, isGlobal: isGlobal)
            rest = rest[record.end...]
        }
    }

    private mutating func apply(
        _ keyword: String, _ value: ArraySlice<UInt8>, at offset: UInt64, isGlobal: Bool
    ) throws(BackupError) {
        switch keyword {
        case "path", "linkpath", "size", "mtime", "hdrcharset", "charset":
            guard !isGlobal else { throw Self.refused(offset, "\(keyword) for all entries") }
        case _ where keyword.hasPrefix("GNU.sparse") || keyword == "SCHILY.realsize" || keyword == "SCHILY.filetype":
            throw Self.refused(offset, "a sparse file")
        default: return
        }
        let isText = !value.isEmpty && !value.contains(0)
        switch keyword {
        case "path" where isText: try setPath(value)
        case "linkpath" where isText: try setTarget(offset, value.count)
        case "size":
            guard isText, value.allSatisfy({ (48...57).contains($0) }), let size = Int64(String(decoding: value, as: UTF8.self))
            else { throw Self.refused(offset, "a size that is none") }
            self.size = UInt64(size)
        case "mtime":
            guard let time = PAXRecords.time(value) else { throw Self.refused(offset, "a time that is none") }
            modificationTime = time
        case "hdrcharset", "charset":
            guard Self.characterSets.contains(String(decoding: value, as: UTF8.self)) else {
                throw Self.refused(offset, "a character set of its own")
            }
        default: throw Self.refused(offset, "an empty \(keyword), or one with a NUL in it")
        }
    }

    private mutating func setPath(_ text: ArraySlice<UInt8>) throws(BackupError) {
        guard path == nil else { throw ArchiveFailure.refused("The entry \(ArchiveFailure.quoted(text)) has two names.") }
        path = Array(text)
    }

    private mutating func setTarget(_ offset: UInt64, _ count: Int) throws(BackupError) {
        guard linkTarget == nil else { throw Self.refused(offset, "two targets of one link") }
        linkTarget = (offset, count)
    }

    private static func refused(_ offset: UInt64, _ what: Message) -> BackupError {
        ArchiveFailure.refused("At byte \(offset) the archive has \(what).")
    }
}
