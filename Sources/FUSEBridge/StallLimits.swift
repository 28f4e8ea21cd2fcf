import SystemIO
import VirtualTree

/// How long storage may do nothing before requests that wait for it are answered by an error.
enum StallLimits {
    /// A disk that has to spin up, or a server that is started again, answers within that.
    private static let repositorySeconds = 60.0
    /// The kernel keeps `snapshots/` locked for as long.
    private static let changeSeconds = 10.0
    /// The same when a program wants to list it. Not for all: a slow disk takes longer now and then, and the change is made all the same.
    private static let hurriedChangeSeconds = 2.0

    /// For tests.
    private static let shortest = Environment.stallSeconds

    /// - Returns: `nil` where none is given up: readers of the live data may wait for another that renders them.
    static func idleSeconds(of wait: RequestWait) -> Double? {
        switch wait {
        case .app, .store, .drop: nil
        case .repository, .checksums: shortest ?? repositorySeconds
        case .change: min(shortest ?? changeSeconds, changeSeconds)
        }
    }

    /// - Returns: `nil` for what blocks no other request in the kernel.
    static func hurriedSeconds(of wait: RequestWait) -> Double? {
        wait == .change ? min(shortest ?? hurriedChangeSeconds, hurriedChangeSeconds) : nil
    }

    static var turnSeconds: Double { min(5, (shortest ?? repositorySeconds) / 4) }
}
