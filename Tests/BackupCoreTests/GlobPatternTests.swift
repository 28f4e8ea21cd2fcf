import BackupCore
import Testing

/// Shell patterns for names.
struct GlobPatternTests {
    @Test(arguments: [
        ("*", "", true), ("*", ".hidden", true), ("a*c", "abc", true), ("a*c", "abcb", false), ("a*b*c", "aXbYbZc", true),
        ("?", "ü", true), ("??", "ü", false), ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false), ("[^a-c]x", "dx", true),
        ("[]]", "]", true), ("[", "[", true), ("a[", "a[", true), ("[ab", "[ab", true), ("[-a]", "-", true), ("\\*", "*", true),
        ("\\*", "x", false), ("A", "a", false), ("**x", "x", true), ("", "", true), ("", "x", false),
        ("[[[", "[[[", true), ("[a[", "[a[", true), ("[[]x[", "[x[", true), ("[]a[b]", "a", true), ("[]a[", "[]a[", true),
        // Such a text must not take the square of its length.
        (String(repeating: "[", count: 400_000), "[", false),
        ("*a*a*a*a*b", String(repeating: "a", count: 5000), false),
    ])
    func patterns(_ pattern: String, _ name: String, _ expected: Bool) {
        #expect(GlobPattern(pattern).matches(Array(name.utf8)) == expected)
    }

    @Test func `a pattern meets names that are not UTF-8`() {
        #expect(GlobPattern("a?b").matches([0x61, 0xFF, 0x62]))
        #expect(GlobPattern("a*").matches([0x61, 0xFF]))
        #expect(!GlobPattern("a\u{FF}b").matches([0x61, 0xFF, 0x62]))
    }

    @Test(arguments: [
        ("a.mov", "a.mov"), ("\\[1\\] \\*", "[1] *"), ("ü", "ü"), ("", ""), ("a*", nil), ("a?", nil), ("[a]", nil),
        ("a\\", "a\\"),
    ])
    func `a pattern without wildcards has one name`(_ pattern: String, _ name: String?) {
        #expect(GlobPattern(pattern).literal == name.map { Array($0.utf8) })
    }
}
