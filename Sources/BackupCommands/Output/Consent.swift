import BackupCore

/// Asks before something that cannot be undone, in red as the apps' own buttons for it are.
enum Consent {
    /// - Parameters:
    ///   - question: what is about to happen.
    ///   - answer: what the app calls its button; `yes` does as well.
    ///   - what: what nobody can be asked about where there is no terminal.
    /// - Throws: `usage` off a terminal; `interrupted` for any answer but these.
    static func require(_ question: Message, answer: Message? = nil, for what: Message) throws(BackupError) {
        guard Terminal.isInputTerminal else {
            throw BackupError(.usage, "\(what) and nobody can be asked", remedy: "Add --yes.")
        }
        let word = answer ?? "yes"
        let choice: Message =
            answer.map { "\(question) Type \"\($0)\", or nothing to cancel [Cancel]: " } ?? "\(question) Type \"\(word)\" [no]: "
        guard TypedAnswer.matches(try Terminal.ask(choice, isDestructive: true), ["yes", word]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }
}
