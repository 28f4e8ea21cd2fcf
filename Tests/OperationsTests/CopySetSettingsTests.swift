import BackupCore
import TestSupport
import Testing

@testable import Operations

/// Reading the sets of destinations of a `store.yaml`.
@Suite struct CopySetSettingsTests {
    private static let head = RemoteSettingsTests.head
    private static let end = RemoteSettingsTests.end

    private static func read(_ sets: String) throws(BackupError) -> [CopySetSettings] {
        try StoreSettings(SettingsText(head + sets + end, path: "/s/store.yaml")).copySets
    }

    private static func problem(_ sets: String) -> String? {
        do throws(BackupError) {
            _ = try read(sets)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `one path or a list of them, and the options of a copy`() throws {
        let sets = try Self.read(
            """
            copy-sets:
              one:
                destinations: "/mnt/a"
              two:
                destinations: ["/mnt/a", "below"]
                verify: "paranoid"
                hidden: "yes"
                on-conflict: "rename"

            """)
        #expect(sets.map(\.name) == ["one", "two"])
        #expect(sets.map(\.destinations) == [["/mnt/a"], ["/mnt/a", "below"]])
        #expect(sets.map(\.options.verification) == [.standard, .paranoid])
        #expect(sets.map(\.options.includesHidden) == [false, true])
        #expect(sets.map(\.options.conflicts) == [.refuse, .rename])
        #expect(try Self.read("") == [])
        #expect(try Self.read("copy-sets:\n") == [])
    }

    @Test(arguments: [
        ("copy-sets:\n  a:\n    verify: \"quick\"\n", "line 6: copy-sets.a: it has no destinations"),
        ("copy-sets:\n  a:\n    destinations: []\n", "line 7: copy-sets.a.destinations: a destination is the path of a folder"),
        (
            "copy-sets:\n  a:\n    destinations: \"~/x\"\n",
            "line 7: copy-sets.a.destinations: a destination is the path of a folder"
        ),
        ("copy-sets:\n  a:\n    destinations: \"/x\"\n    verify: \"fast\"\n", "line 8: copy-sets.a.verify: it cannot be “fast”"),
        (
            "copy-sets:\n  a:\n    destinations: \"/x\"\n    hiden: \"yes\"\n",
            "line 8: copy-sets.a.hiden: a copy set has no such setting"
        ),
        ("copy-sets:\n  a/b:\n    destinations: \"/x\"\n", "line 6: copy-sets.a/b: this cannot be the name of a copy set"),
        ("copy-sets:\n  a:\n    destinations: {x: y}\n", "line 7: every setting of a copy set is a name and a text"),
        (
            "copy-sets:\n  a:\n    destinations: \"/x\"\n    verify: [\"quick\"]\n",
            "line 8: every setting of a copy set is a name and a text"
        ),
        ("copy-sets: \"x\"\n", "line 5: copy-sets must have lines below it"),
        (
            "copy-sets:\n  1:\n    destinations: \"/x\"\n  \"1\":\n    destinations: \"/y\"\n",
            "the settings are not valid YAML"
        ),
    ])
    func `what is refused, with its line`(text: String, problem: String) {
        #expect(Self.problem(text)?.contains(problem) == true, "\(Self.problem(text) ?? "read")")
    }

    @Test func `other settings are changed around them`() throws {
        let sets = "copy-sets:\n  a:   # mine\n    destinations: [\"/x\", \"/y\"]\n"
        var text = try SettingsText(Self.head + sets + Self.end, path: "/s/store.yaml")
        try text.set(.schedule, "daily")
        #expect(text.text.contains(sets))
        #expect(text.text.contains("schedule: \"daily\"\n"))
        #expect(try StoreSettings(text).copySets.map(\.destinations) == [["/x", "/y"]])
    }

    @Test func `an adopted store has them as comments`() throws {
        var text = try SettingsText(
            Self.head + "copy-sets:\n  a:\n    destinations: [\"/x\"]\n" + Self.end, path: "/s/store.yaml")
        try text.commentOutCopySets()
        #expect(text.text == Self.head + "# copy-sets:\n#   a:\n#     destinations: [\"/x\"]\n" + Self.end)
    }
}
