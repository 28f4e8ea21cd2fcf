import SystemIO
import VirtualTree

/// How long storage may do nothing before requests that wait for it are answered by an error.
enum StallLimits {
    /// A disk that has to spin up, or a server that is started again, answers within that.
    private static let repositorySeconds = 60.0
    /// The kernel keeps `snapshots/` locked for as long.
    private static let changeSeconds = 10.0

    /// For tests.
    private static let shortest = Environment.text("BACKUPFS_STALL_SECONDS").flatMap { Double($0) }.map { max(0.1, $0) }

    /// - Returns: `nil` where none is given up: readers of the live data may wait for another that renders them.
    static func idleSeconds(of wait: RequestWait) -> Double? {
        switch wait {
        case .app, .store: nil
        case .repository, .checksums: shortest ?? repositorySeconds
        case .change: min(shortest ?? changeSeconds, changeSeconds)
        }
    }

    static var turnSeconds: Double { min(5, (shortest ?? repositorySeconds) / 4) }
}
