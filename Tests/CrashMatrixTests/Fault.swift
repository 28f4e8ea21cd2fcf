/// What goes wrong at one call. `include/fault_layer.h` says what each name means.
enum Fault: String, CaseIterable, Sendable {
    case kill
    case tear
    case fullOnce = "full-once"
    case full
    case brokenOnce = "broken-once"
    case broken

    /// Whether the process dies of it.
    var kills: Bool { self == .kill || self == .tear }

    /// Whether only one call goes wrong, and all after it go well.
    var passes: Bool { self == .fullOnce || self == .brokenOnce }

    /// Whether a call can have it.
    func canHit(_ call: RecordedCall) -> Bool {
        switch self {
        case .kill, .brokenOnce, .broken: true
        case .full, .fullOnce: call.kind != .change
        case .tear: call.kind == .write
        }
    }
}
