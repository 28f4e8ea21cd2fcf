/// A fault at one of the calls that can have it, counted from 1.
struct PlannedFault: CustomStringConvertible, Sendable {
    let fault: Fault
    let number: Int
    /// The only calls that count, as `NAME PATH`; all, if it is not given.
    var call: String?

    var description: String { "\(fault.rawValue)@\(number)" + (call.map { " \($0)" } ?? "") }

    /// A fault for each call of a recording that can have it, named so that it is the same call in each run.
    static func all(_ fault: Fault, of calls: [RecordedCall]) -> [PlannedFault] {
        var counts: [String: Int] = [:]
        var plans: [PlannedFault] = []
        for call in calls where fault.canHit(call) {
            let name = "\(call.name) \(call.path)"
            counts[name, default: 0] += 1
            plans.append(PlannedFault(fault: fault, number: counts[name] ?? 1, call: name))
        }
        return plans
    }
}
