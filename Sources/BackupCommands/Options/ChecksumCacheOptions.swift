import ArgumentParser
import BackupCore
import CopyVerify

/// Options of verbs that compute checksums of files.
struct ChecksumCacheOptions: ParsableArguments {
    @Flag(name: .long, help: "Read every file, and neither use nor fill the cache of checksums.")
    var noCache = false
    @Option(
        name: .long,
        help: ArgumentHelp("How old a checksum in the cache may be: 30min, 12h (default: 1h).", valueName: "time"))
    var cacheAge: CacheAge = CacheAge(seconds: ChecksumCache.defaultAgeSeconds)

    init() {}

    /// - Parameter isUsed: false for what never uses the cache.
    func checksums(isUsed: Bool = true) throws(BackupError) -> FileChecksums {
        let path = isUsed && !noCache ? try ChecksumCache.defaultPath() : nil
        return FileChecksums(cacheAt: path, ageSeconds: cacheAge.seconds)
    }

    /// Says on standard error what is wrong with the cache, if something is.
    static func finish(_ checksums: FileChecksums) {
        if let problem = checksums.finish() { Terminal.writeError("warning: \(problem.summary)") }
    }
}

/// How old a checksum in the cache may be.
struct CacheAge: ExpressibleByArgument {
    let seconds: Int64

    init(seconds: Int64) { self.seconds = seconds }

    init?(argument: String) {
        guard let parts = TimeUnit.parts(of: argument, m: .minutes) else { return nil }
        var sum: Int64 = 0
        for (number, unit) in parts {
            guard let seconds = unit.secondCount else { return nil }
            sum += Int64(number) * seconds
        }
        seconds = sum
    }

    var defaultValueDescription: String { "1h" }
}
