import ArgumentParser
import BackupCore
import Operations

/// The rules of retention that `store.yaml` has as well, for the store or for a remote.
struct RetentionOptions: ParsableArguments {
    @Option(name: [.long, .customShort("l")], help: ArgumentHelp("Keep the newest N, or \"unlimited\".", valueName: "n"))
    var keepLast: String?
    @Option(name: .long, help: ArgumentHelp("Keep the newest of each of the last N hours that have one.", valueName: "n"))
    var keepHourly: String?
    @Option(name: .long, help: ArgumentHelp("The same for days.", valueName: "n"))
    var keepDaily: String?
    @Option(name: .long, help: ArgumentHelp("The same for weeks.", valueName: "n"))
    var keepWeekly: String?
    @Option(name: .long, help: ArgumentHelp("The same for months.", valueName: "n"))
    var keepMonthly: String?
    @Option(name: .long, help: ArgumentHelp("The same for years.", valueName: "n"))
    var keepYearly: String?
    @Option(
        name: .long,
        help: ArgumentHelp("Keep all that were made so long before the newest, such as 1y6m or 30d12h.", valueName: "time"))
    var keepWithin: String?

    init() {}

    /// - Returns: without rules, if none is given.
    /// - Throws: `usage` for an invalid value.
    func policy() throws(BackupError) -> RetentionPolicy {
        var policy = RetentionPolicy()
        policy.last = try Self.limit(keepLast, "--keep-last")
        policy.hourly = try Self.limit(keepHourly, "--keep-hourly")
        policy.daily = try Self.limit(keepDaily, "--keep-daily")
        policy.weekly = try Self.limit(keepWeekly, "--keep-weekly")
        policy.monthly = try Self.limit(keepMonthly, "--keep-monthly")
        policy.yearly = try Self.limit(keepYearly, "--keep-yearly")
        if let keepWithin { policy.within = try RetentionPeriod(parsing: keepWithin) }
        return policy
    }

    private static func limit(_ text: String?, _ option: String) throws(BackupError) -> RetentionPolicy.Limit? {
        guard let text else { return nil }
        do throws(BackupError) {
            return try RetentionPolicy.Limit(parsing: text)
        } catch {
            throw error.with(nil, "\(option) \(error.message)")
        }
    }
}
