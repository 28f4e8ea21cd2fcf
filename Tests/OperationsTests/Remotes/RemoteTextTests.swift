import BackupCore
import TestSupport
import Testing

@testable import Operations

/// Changes of the remotes in the text of a `store.yaml`.
@Suite struct RemoteTextTests {
    private static let head = RemoteSettingsTests.head
    private static let end = RemoteSettingsTests.end

    private static func remote(_ name: String, _ url: String = "/copy", label: String? = nil) throws -> RemoteSettings {
        var remote = try RemoteSettings(name: name, url: url)
        remote.label = label
        return remote
    }

    private static func setting(_ remote: RemoteSettings, in text: String) throws(BackupError) -> String {
        var settings = try SettingsText(text, path: "/s/store.yaml")
        try settings.setRemote(remote)
        return settings.text
    }

    private static func removing(_ name: String, in text: String) throws(BackupError) -> String {
        var settings = try SettingsText(text, path: "/s/store.yaml")
        try settings.removeRemote(name)
        return settings.text
    }

    @Test func `the first remote stands before the last line`() throws {
        let text = try Self.setting(Self.remote("disk", label: "My \"disk\""), in: Self.head + Self.end)
        #expect(text == Self.head + "remotes:\n  disk:\n    url: \"/copy\"\n    label: \"My \\\"disk\\\"\"\n" + Self.end)
        #expect(try Self.removing("disk", in: text) == Self.head + Self.end)
    }

    @Test func `another remote stands below the others, as they are written`() throws {
        let text = """
            # mine
            remotes:     # all of them
                a:
                      url: "/a"   # the first

                  # about b
                b:
                      url: '/b'
                # the end of the list

            # about the app
            app: a
            database: d
            repository: r
            formatVersion: 1
            """
        let added = try Self.setting(Self.remote("c", "/c"), in: text)
        #expect(
            added
                == text.replacing(
                    "    # the end of the list\n", with: "    # the end of the list\n    c:\n          url: \"/c\"\n"))
        #expect(try Self.removing("c", in: added) == text)
        #expect(
            try Self.removing("a", in: text)
                == text.replacing("    a:\n          url: \"/a\"   # the first\n\n      # about b\n", with: ""))
        #expect(try Self.removing("b", in: text) == text.replacing("    b:\n          url: '/b'\n", with: ""))
        #expect(try Self.removing("none", in: text) == text)
    }

    @Test func `a change keeps comments and what stays the same`() throws {
        let text =
            Self.head + """
                remotes:
                  a:
                    # where
                    url: '/a' # here
                    after-backup: on   # always
                    label: old   # the name
                    quota: 1000 kB

                  b:
                    url: /b
                # End of settings

                """
        var remote = try Self.remote("a", "/a", label: "new")
        remote.quotaBytes = 1_000_000
        let labelled = text.replacing("    label: old   # the name\n", with: "    label: \"new\"\n")
        #expect(try Self.setting(remote, in: text) == labelled)
        #expect(try Self.setting(remote, in: labelled) == labelled)
        remote.label = nil
        remote.isAutomatic = false
        #expect(
            try Self.setting(remote, in: text)
                == text.replacing("    label: old   # the name\n", with: "")
                .replacing("after-backup: on   # always", with: "after-backup: \"no\""))
        remote.isAutomatic = true
        remote.quotaBytes = nil
        remote.downloadBytesPerSecond = nil
        remote.label = "old"
        #expect(try Self.setting(remote, in: text) == text.replacing("    quota: 1000 kB\n", with: ""))
        var other = try Self.remote("b", "/c")
        other.quotaBytes = 1_536
        #expect(
            try Self.setting(other, in: text) == text.replacing("    url: /b\n", with: "    url: \"/c\"\n    quota: \"1536 B\"\n")
        )
    }

    @Test func `line endings stay`() throws {
        let text = (Self.head + "remotes:\n  a:\n    url: /a\n" + Self.end).replacing("\n", with: "\r\n")
        let added = try Self.setting(Self.remote("b", "/b"), in: text)
        #expect(added == text.replacing("url: /a\r\n", with: "url: /a\r\n  b:\r\n    url: \"/b\"\r\n"))
        #expect(try Self.removing("b", in: added) == text)
        #expect(
            try Self.removing("a", in: text).unicodeScalars.elementsEqual(
                (Self.head + Self.end).replacing("\n", with: "\r\n").unicodeScalars))
    }

    @Test func `a file that ends in the list, without a line feed`() throws {
        let text = Self.head + "remotes:\n  a:\n    url: /a"
        #expect(try Self.setting(Self.remote("b", "/b"), in: text) == text + "\n  b:\n    url: \"/b\"\n")
        #expect(try Self.setting(Self.remote("a", "/b"), in: text) == Self.head + "remotes:\n  a:\n    url: \"/b\"")
        #expect(try Self.setting(Self.remote("a", "/a", label: "x"), in: text) == text + "\n    label: \"x\"\n")
        #expect(try Self.removing("a", in: text) == Self.head)
        #expect(try Self.removing("b", in: Self.setting(Self.remote("b", "/b"), in: text)) == text + "\n")
        #expect(
            try Self.setting(Self.remote("a"), in: String(Self.head.dropLast())) == Self.head
                + "remotes:\n  a:\n    url: \"/copy\"\n")
    }

    @Test func `a list without remotes`() throws {
        let text = Self.head + "remotes:\n  # offsite:\n  #   url: x\n" + Self.end
        let added = try Self.setting(Self.remote("a"), in: text)
        #expect(added == Self.head + "remotes:\n  # offsite:\n  #   url: x\n  a:\n    url: \"/copy\"\n" + Self.end)
        #expect(try Self.removing("a", in: added) == text)
        #expect(
            try Self.setting(Self.remote("a"), in: Self.head + "remotes: # none yet\n" + Self.end)
                == Self.head + "remotes: # none yet\n  a:\n    url: \"/copy\"\n" + Self.end)
    }

    @Test(arguments: [
        "remotes: {}\n", "remotes: {a: {url: /a}}\n", "remotes: &x\n  a:\n    url: /a\n", "? remotes\n: a:\n    url: /a\n",
        "\"remotes\": !!map\n  a:\n    url: /a\n",
    ])
    func `a list in another form is left to an editor`(remotes: String) throws {
        for text in [Self.head + remotes + Self.end, remotes + Self.head + Self.end] {
            let added = failure {
                _ = try Self.setting(RemoteSettings(name: "b", url: "/b"), in: text)
            }
            #expect(added?.message.english.hasSuffix("is written in a way that cannot be changed by a program") == true)
            #expect(added?.remedy?.english == "Change it with an editor, and look with: backupfs config check")
            guard try !SettingsText(text, path: "").remotes.isEmpty else { continue }
            let removed = failure { _ = try Self.removing("a", in: text) }
            #expect(removed?.message.english.hasSuffix("is written in a way that cannot be changed by a program") == true)
        }
    }

    @Test(arguments: [
        "  a: {url: /a, label: old}\n", "  a: &x\n    url: /a\n", "  ? a\n  : url: /a\n", "  a:\n    url: |-\n      /a\n",
        "  a:\n    url: \"/a\n      b\"\n", "  a:\n    ? url\n    : /a\n", "  a:\n    {url: /a}\n",
    ])
    func `a remote in another form is not changed`(remote: String) throws {
        let text = Self.head + "remotes:\n" + remote + Self.end
        let error = failure { _ = try Self.setting(RemoteSettings(name: "a", url: "/new"), in: text) }
        #expect(error?.message.english == "remotes.a is written in a way that cannot be changed by a program")
        // It is removed where its lines are known, or not at all.
        var settings = try SettingsText(text, path: "")
        if (try? settings.removeRemote("a")) != nil {
            #expect(settings.text == Self.head + Self.end)
        } else {
            #expect(settings.text == text)
        }
    }

    @Test func `an anchor that another setting needs keeps a remote from being removed`() throws {
        let text = Self.head + "remotes:\n  a:\n    url: &u /a\n  b:\n    url: /b\n    label: *u\n" + Self.end
        #expect(try SettingsText(text, path: "").remotes.last?.content == ["url": "/b", "label": "/a"])
        let error = failure { _ = try Self.removing("a", in: text) }
        #expect(error?.message.english == "remotes.a is written in a way that cannot be changed by a program")
        #expect(try Self.removing("b", in: text) == Self.head + "remotes:\n  a:\n    url: &u /a\n" + Self.end)
    }

    /// Never lost with the lines above it: without it, no rule removes a backup.
    @Test func `the last line stays where more follows it`() throws {
        let text = Self.head + "remotes:\n  a:\n    url: /a\n" + Self.end + "    label: x\n"
        let error = failure { _ = try Self.removing("a", in: text) }
        #expect(error?.message.english == "remotes.a is written in a way that cannot be changed by a program")
    }

    @Test(arguments: [
        "# End of settings", "a\\", "\"", "'", "x: y", " #", "{}", "&a", "*a", "!!int 1", "null", "~", "- a", "%YAML",

        "ä\u{301}😀", "${HOME}", "`id`", "<<", "a\u{A0}b", "\u{200B}", "yes", "1_000", "...", "---",
    ])
    func `hostile values come back as they were`(value: String) throws {
        var remote = try Self.remote("null", label: value)
        remote.quotaBytes = .max
        let text = Self.head + Self.end
        let added = try Self.setting(remote, in: text)
        #expect(try StoreSettings(SettingsText(added, path: "")).remotes == [remote])
        #expect(added.hasSuffix("\n" + Self.end))
        #expect(try Self.removing("null", in: added) == text)
        remote.label = nil
        remote.credentialsCommand = value
        remote.url = "s3:https://h.example/bucket"
        #expect(try StoreSettings(SettingsText(Self.setting(remote, in: added), path: "")).remotes == [remote])
    }

    @Test func `names that look like other values`() throws {
        for name in [
            "1", "1.5", "yes", "null", "0x1F", "_", "2024-01-01", "e", "1e3", "NaN", "url", "remotes",
            String(repeating: "n", count: 64),
        ] {
            let added = try Self.setting(Self.remote(name), in: Self.head + Self.end)
            #expect(try StoreSettings(SettingsText(added, path: "")).remotes == [Self.remote(name)])
            #expect(try Self.removing(name, in: added) == Self.head + Self.end)
        }
        for name in ["", "a b", "a:", "-", "a\n", "../x", "..", "a\u{301}", String(repeating: "n", count: 65)] {
            #expect(failure { _ = try RemoteSettings(name: name, url: "/x") }?.code == .usage)
        }
    }

    /// Lines that a person may write between, before and after remotes, in all orders.
    @Test func `what was added is removed without a trace`() throws {
        var random = SeededGenerator(seed: 7)
        let pieces = [
            "# a comment\n", "\n", "    # deep\n", "  # of the list\n", "# remotes:\n#   offsite:\n#     url: \"x\"\n",
            "schedule: daily\n",
            "notify: \"a\n  b\"\n", "notify: |\n  remotes:\n    a\n\n", "\t\n", Self.end,
        ]
        var changed = 0
        for round in 0..<400 {
            func some() -> String {
                (0..<Int.random(in: 0...3, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            }
            var text = some() + Self.head + some()
            if round % 2 == 0 {
                text += "remotes:\n" + some().replacing("schedule: daily\n", with: "") + "  first:\n    url: /first\n" + some()
            }
            if round % 3 == 0 { text = text.replacing("\n", with: "\r\n") }
            // An empty list goes with its last remote.
            guard let before = try? SettingsText(text, path: ""), let old = try? StoreSettings(before),
                round % 2 != 0 || !before.remotes.isEmpty
            else { continue }
            var remote = try Self.remote("second", "/second", label: round % 5 == 0 ? "# End of settings" : nil)
            remote.isAutomatic = round % 7 != 0
            var settings = before
            do throws(BackupError) {
                try settings.setRemote(remote)
            } catch {
                #expect(settings.text == text)
                continue
            }
            let new = try StoreSettings(SettingsText(settings.text, path: ""))
            #expect(new.remotes == old.remotes + [remote])
            var same = new
            same.remotes = old.remotes
            #expect(same == old)
            try settings.removeRemote("second")
            #expect(settings.text.utf8.elementsEqual(text.utf8), "\(text)\n---\n\(settings.text)")
            changed += 1
        }
        #expect(changed > 150, "\(changed)")
    }
}
