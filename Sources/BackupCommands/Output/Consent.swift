import BackupCore

/// Asks before something that cannot be undone.
enum Consent {
    /// - Parameters:
    ///   - question: what is about to happen.
    ///   - answer: what the app calls its button; `yes` does as well.
    ///   - what: what nobody can be asked about where there is no terminal.
    /// - Throws: `usage` off a terminal; `interrupted` for any answer but these.
    static func require(_ question: String, answer: String? = nil, for what: String) throws(BackupError) {
        guard Terminal.isInputTerminal else {
            throw BackupError(.usage, "\(what) and nobody can be asked", remedy: "Add --yes.")
        }
        let words = ["yes"] + (answer.map { [$0.lowercased()] } ?? [])
        let choice = answer.map { " Type \"\($0)\", or nothing to cancel [Cancel]: " } ?? " Type \"yes\" [no]: "
        guard let given = Terminal.ask(question + choice)?.lowercased(), words.contains(given) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }
}
