import BackupCore

/// Asks before something that cannot be undone.
enum Consent {
    /// - Parameters:
    ///   - question: ends with what to type.
    ///   - what: what nobody can be asked about where there is no terminal.
    /// - Throws: `usage` off a terminal; `interrupted` for any answer but yes.
    static func require(_ question: String, for what: String) throws(BackupError) {
        guard Terminal.isInputTerminal else {
            throw BackupError(.usage, "\(what) and nobody can be asked", remedy: "Add --yes.")
        }
        guard Terminal.ask(question + " Type \"yes\" [no]: ")?.lowercased() == "yes" else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }
}
