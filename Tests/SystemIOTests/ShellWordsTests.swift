import TestSupport
import Testing

@testable import SystemIO

struct ShellWordsTests {
    @Test(arguments: [
        (["backupfs", "backup", "--store=/a/b_c"], "backupfs backup --store=/a/b_c"),
        (["a b", "", "it's", "$HOME", "*"], #"'a b' '' 'it'\''s' '$HOME' '*'"#),
        ([#"\"#, "'", "\n", "é"], "'\\' ''\\''' '\n' 'é'"),
    ])
    func `words are written so that they come back`(words: [String], text: String) throws {
        #expect(ShellWords.text(of: words) == text)
        #expect(ShellWords.words(in: text) == words)
        // A shell takes them for the same.
        #expect(try shell("printf '<%s>' " + text).output == words.map { "<\($0)>" }.joined())
    }

    @Test func `what was cut off is no command line`() {
        #expect(ShellWords.words(in: "backupfs 'restore") == nil)
        #expect(ShellWords.words(in: #"backupfs \"#) == nil)
        #expect(ShellWords.words(in: "  a   b ") == ["a", "b"])
        #expect(ShellWords.words(in: "") == [])
    }
}
