import BackupCore
import Formats
import SystemIO

/// The ZIP reader: what it accepts has one reading, from the end as from the front, and every entry is what the directory says.
enum ZIPFuzzing {
    private static let unpackedLimitBytes: UInt64 = 8 << 20
    static let refusals: Set<BackupError.Code> = [.invalidContent, .damagedContent, .tooLarge]

    static func run(_ bytes: [UInt8]) throws -> FuzzOutcome {
        var wide = ArchiveLimits(totalSizeBytes: unpackedLimitBytes)
        wide.acceptsUnixBackslashes = true
        wide.acceptsSymbolicLinks = true
        let narrow = try run(bytes, ArchiveLimits(totalSizeBytes: unpackedLimitBytes))
        let outcome = try run(bytes, wide)
        try FuzzViolation.require(narrow != .accepted || outcome == .accepted, "accepted only where less is allowed")
        return outcome
    }

    private static func run(_ bytes: [UInt8], _ limits: ArchiveLimits) throws -> FuzzOutcome {
        let source = WatchedSource(bytes)
        do {
            let reader = try ArchiveReader(zip: source, size: source.size, limits: limits)
            try MessageRules.require(warnings: reader.warnings)
            let entries = Array(reader.entries())
            try ArchiveLocations.require(entries, limits)
            try FuzzViolation.require(
                entries.reduce(0) { $0 + $1.size } <= unpackedLimitBytes, "more is unpacked than was allowed")
            var contents: [[UInt8]] = []
            for entry in entries { contents.append(try content(of: entry, in: reader)) }
            try FuzzViolation.require(source.farthestOffset <= source.size, "something behind the end was read")
            try FrontReading.require(bytes, entries, contents)
            _ = reader.entries(strippingCommonFolder: true).map(\.path)
            for (entry, content) in zip(entries, contents) {
                try FuzzViolation.require(try self.content(of: entry, in: reader) == content, "the second reading differs")
            }
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, refusals)
        }
    }

    private static func content(of entry: ArchiveEntry, in reader: ArchiveReader) throws -> [UInt8] {
        var content: [UInt8] = []
        try reader.extract(entry) { (part) throws(BackupError) in content += part }
        try FuzzViolation.require(
            UInt64(content.count) == entry.size && CRC32.of(content) == entry.crc32, "the content is not what the directory says")
        return content
    }
}
