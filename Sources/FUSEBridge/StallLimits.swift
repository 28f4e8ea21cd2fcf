import SystemIO
import VirtualTree

/// How long storage may do nothing before requests that wait for it are answered with an error.
enum StallLimits {
    /// A disk that has to spin up, or a server that is restarted, responds within this time.
    private static let repositorySeconds = 60.0
    /// The kernel keeps `snapshots/` locked for this time.
    private static let changeSeconds = 10.0
    /// The same when a program wants to list it. Not in general: a slow disk sometimes takes longer, and the change is made all the same.
    private static let hurriedChangeSeconds = 2.0

    /// For tests.
    private static let shortest = Environment.stallSeconds

    /// - Returns: `nil` if requests are never given up: readers of the live data may wait for another one that renders them.
    static func idleSeconds(of wait: RequestWait) -> Double? {
        switch wait {
        case .app, .store, .drop: nil
        case .repository, .checksums: shortest ?? repositorySeconds
        case .change: min(shortest ?? changeSeconds, changeSeconds)
        }
    }

    /// - Returns: `nil` for requests that block no other request in the kernel.
    static func hurriedSeconds(of wait: RequestWait) -> Double? {
        wait == .change ? min(shortest ?? hurriedChangeSeconds, hurriedChangeSeconds) : nil
    }

    static var turnSeconds: Double { min(5, (shortest ?? repositorySeconds) / 4) }
}
