import BackupCore

extension SettingsText {
    /// Makes comments of all copy sets.
    /// - Throws: `invalidContent` when the text has a form that can only be edited by hand.
    mutating func commentOutCopySets() throws(BackupError) {
        guard !copySets.isEmpty else { return }
        var lines = SettingsLines(text)
        let key = CopySetSettings.key
        let start = (0..<lines.count).first { Self.isKeyLine(lines[$0], key) && lines.indentation($0) == 0 }
        guard let start else { throw Self.isForEditors(key, path) }
        for index in start..<lines.blockEnd(start) { lines[index] = lines[index].map { "# \($0)" } }
        guard let changed = try? SettingsText(lines.text, path: path), changed.copySets.isEmpty,
            changed.entries.mapValues(\.value) == entries.mapValues(\.value),
            changed.remotes.map(\.content) == remotes.map(\.content),
            changed.hasEnd == hasEnd
        else { throw Self.isForEditors(key, path) }
        self = changed
    }
}
