import Glibc
import TestSupport

/// An operation of one host that something happens to, beside one of the other host.
final class HostTrial {
    enum Turn: String, CaseIterable, Sendable {
        case before = "prune, the other host has backed up before"
        /// When notes of locks have expired.
        case after = "prune, the other host backs up after"
        case during = "prune is suspended, the other host backs up"
        /// For longer than the note of its lock is valid.
        case asleep = "prune is suspended for hours, the other host backs up"
        case backupAsleep = "backup is suspended for hours, the other host prunes"

        var faults: [Fault] { self == .before || self == .after ? Fault.allCases : [.stop] }

        /// The calls that can go wrong.
        var calls: [RecordedCall] {
            get throws {
                let prepared = try TwoHosts.Prepared.shared.get()
                return self == .backupAsleep ? prepared.backupCalls : prepared.pruneCalls
            }
        }
    }

    private let turn: Turn
    private let plan: PlannedFault
    private let hosts: TwoHosts
    var complaints: Complaints { hosts.complaints }
    /// The call that the fault hit.
    private(set) var place = "nowhere"

    init(_ turn: Turn, _ plan: PlannedFault) throws {
        self.turn = turn
        self.plan = plan
        hosts = try TwoHosts()
    }

    /// - Returns: whether the fault was met.
    func run() throws -> Bool {
        if turn == .before { try hosts.expect(hosts.startBackup(isLogged: false), [0], "the backup before") }
        let result = try disturb()
        guard let hit = RecordedCall.read(hosts.world.logPath).first else { return false }
        place = "\(hit.name) \(hit.path)"
        complaints.expect(
            plan.fault.kills ? result.exitCode == 128 + SIGKILL : result.exitCode < 128,
            "it has ended with \(result.exitCode): \(result.text)")
        if turn == .after {
            try hosts.passTime()
            try hosts.expect(hosts.startBackup(isLogged: false), [0], "the backup after")
        }
        // Those were made; one that was refused is made now.
        let isMade = [.before, .after, .asleep].contains(turn) || (turn == .backupAsleep && result.exitCode == 0)
        if isMade { complaints.expect(try hosts.hasOtherBackup(), "the other host's backup is lost") }
        try hosts.expectAllWhole(after: result)
        return true
    }

    private func disturb() throws -> Job.Result {
        switch turn {
        case .before, .after: return try hosts.startPrune(plan).wait()
        case .during:
            var backup: Job?
            let result = Result {
                try hosts.whileStopped(hosts.startPrune(plan)) {
                    backup = try hosts.startBackup(isLogged: false)
                    _ = backup.map(TwoHosts.endsSoon)
                }
            }
            // 11: the prune has the lock.
            if let backup { try hosts.expect(backup, [0, 11], "the backup beside") }
            return try result.get()
        case .asleep:
            return try hosts.whileStopped(hosts.startPrune(plan)) {
                try hosts.passTime()
                try hosts.expect(hosts.startBackup(isLogged: false), [0], "the backup while the prune slept")
            }
        case .backupAsleep:
            return try hosts.whileStopped(hosts.startBackup(plan)) {
                try hosts.passTime()
                try hosts.expect(hosts.startPrune(isLogged: false), [0], "the prune while the backup slept")
            }
        }
    }
}

extension HostTrial: CustomStringConvertible {
    var description: String { "\(turn.rawValue), \(plan), \(place)" }
}
