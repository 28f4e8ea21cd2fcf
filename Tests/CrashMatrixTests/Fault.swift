/// What goes wrong at one call. `include/fault_layer.h` says what each name means.
enum Fault: String, Sendable {
    case kill
    case tear
    case fullOnce = "full-once"
    case full
    case brokenOnce = "broken-once"
    case broken
    /// The process is stopped (SIGSTOP), and its parent lets it go on.
    case stop

    /// What an operation must come through by itself.
    static let allCases: [Fault] = [.kill, .tear, .fullOnce, .full, .brokenOnce, .broken]

    /// Whether the process dies of it.
    var kills: Bool { self == .kill || self == .tear }

    /// Whether only one call goes wrong, and all after it go well.
    var passes: Bool { self == .fullOnce || self == .brokenOnce }

    /// Whether a call can have it.
    func canHit(_ call: RecordedCall) -> Bool {
        switch self {
        case .kill, .brokenOnce, .broken, .stop: true
        case .full, .fullOnce: call.kind != .change
        case .tear: call.kind == .write
        }
    }
}
