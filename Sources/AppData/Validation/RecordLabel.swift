import BackupCore

/// Which record a finding is about. Smaller than its text: a validation keeps one for each record whose reference is still open.
enum RecordLabel: Comparable {
    /// "expense 1".
    case keyed(_ singular: String, _ key: String)
    /// "expense number 3", when it has no key that can be told.
    case counted(_ singular: String, _ number: Int)

    var text: Message {
        switch self {
        case .keyed(let singular, let key): "\(singular) \(key)"
        case .counted(let singular, let number): "\(singular) number \(number)"
        }
    }
}
