import ArgumentParser
import BackupCore
import SystemIO

/// `--wait`: how long a command waits for a lock.
struct WaitingTime: ExpressibleByArgument {
    private static let endless = "unlimited"

    /// `nil` for no limit.
    let seconds: Int64?

    init?(argument: String) {
        if argument == Self.endless || argument.isEmpty {
            seconds = nil
            return
        }
        guard let sum = Self.sum(argument) else { return nil }
        seconds = sum
    }

    private static func sum(_ text: String) -> Int64? {
        // `m` means minutes: waits of months are not useful.
        guard let parts = TimeUnit.parts(of: text, m: .minutes) else { return nil }
        var sum: Int64 = 0
        for (number, unit) in parts {
            guard let seconds = unit.secondCount else { return nil }
            sum += Int64(number) * seconds
        }
        return sum
    }

    func begin() {
        LockTimeout.begin(seconds: seconds) { holder in
            if Terminal.isErrorTerminal || Terminal.verbosity == .verbose { Terminal.complain("Waiting: \(holder)") }
        }
    }

    /// Adds a value to the option where it has none: the parser knows only options that require a value and options without one.
    /// - Returns: the words of the command line, without the program's name.
    static func completed(_ arguments: [String]) -> [String] {
        let option = "--wait"
        var words: [String] = []
        var isOver = false
        for word in arguments.dropFirst() {
            if words.last == option, !isOver {
                words.removeLast()
                // A word that is not a duration is the next argument.
                if sum(word) != nil {
                    words.append("\(option)=\(word)")
                    continue
                }
                words.append("\(option)=\(endless)")
            }
            if word == "--" { isOver = true }
            words.append(word)
        }
        if words.last == option, !isOver { words[words.endIndex - 1] = "\(option)=\(endless)" }
        return words
    }
}
