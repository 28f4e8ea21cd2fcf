import BackupCore

/// Asks before something that cannot be undone, in red like the apps' own buttons for it.
enum Consent {
    /// - Parameters:
    ///   - question: the question about the planned action.
    ///   - answer: the label of the app's button; `yes` is accepted as well.
    ///   - what: the action in the error message where there is no terminal to ask.
    /// - Throws: `usage` without a terminal; `interrupted` for any other answer.
    static func require(_ question: Message, answer: Message? = nil, for what: Message) throws(BackupError) {
        guard Terminal.isInputTerminal else {
            throw BackupError(.usage, "\(what), and there is no terminal to confirm it on", remedy: "Add --yes.")
        }
        let word = answer ?? "yes"
        let choice: Message =
            answer.map { "\(question) Type \"\($0)\", or nothing to cancel [Cancel]: " } ?? "\(question) Type \"\(word)\" [no]: "
        guard TypedAnswer.matches(try Terminal.ask(choice, isDestructive: true), ["yes", word]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }
}
