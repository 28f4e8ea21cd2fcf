import BackupCore
import Formats

/// The tar reader: what it accepts has safe names, each in a place of its own, and contents of their sizes.
enum TARFuzzing {
    private static let unpackedLimitBytes: UInt64 = 8 << 20

    static func run(_ bytes: [UInt8]) throws -> FuzzOutcome {
        var wide = ArchiveLimits(totalSizeBytes: unpackedLimitBytes)
        wide.acceptsUnixBackslashes = true
        wide.acceptsSymbolicLinks = true
        let narrow = try run(bytes, ArchiveLimits(totalSizeBytes: unpackedLimitBytes), readsAhead: true)
        let outcome = try run(bytes, wide, readsAhead: true)
        try FuzzViolation.require(narrow != .accepted || outcome == .accepted, "accepted only where less is allowed")
        try FuzzViolation.require(try run(bytes, wide, readsAhead: false) == outcome, "it hangs on how much is read at once")
        return outcome
    }

    private static func run(_ bytes: [UInt8], _ limits: ArchiveLimits, readsAhead: Bool) throws -> FuzzOutcome {
        let source = WatchedSource(bytes)
        do {
            let reader = try ArchiveReader(tar: source, size: source.size, limits: limits, readsAhead: readsAhead)
            try MessageRules.require(warnings: reader.warnings)
            let entries = Array(reader.entries())
            try ArchiveLocations.require(entries, limits)
            for entry in entries {
                let content = try reader.content(of: entry)
                try FuzzViolation.require(UInt64(content.count) == entry.size, "the content is not what the header says")
                try FuzzViolation.require(try reader.content(of: entry) == content, "the second reading differs")
            }
            try FuzzViolation.require(source.farthestOffset <= source.size, "something behind the end was read")
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, ZIPFuzzing.refusals)
        }
    }
}
