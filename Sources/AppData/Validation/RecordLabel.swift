import BackupCore

/// The record that a finding refers to. Smaller than its text: a validation keeps one for each record with an unresolved reference.
enum RecordLabel: Comparable {
    /// "expense 1".
    case keyed(_ singular: String, _ key: String)
    /// "expense number 3", when it has no usable key.
    case counted(_ singular: String, _ number: Int)

    var text: Message {
        switch self {
        case .keyed(let singular, let key): "\(singular) \(key)"
        case .counted(let singular, let number): "\(singular) number \(number)"
        }
    }
}
