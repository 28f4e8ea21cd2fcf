import SystemIO
import TestSupport
import Testing

/// Documents that go stale fail here.
@Suite struct DocumentTests {
    private static func documents() throws -> [Document] {
        let root = Machine.projectPath
        var paths = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map { "\(root)/\($0)" }
        for kind in ["", "/how-to", "/reference", "/explanation", "/decisions"] {
            let folder = "\(root)/Docs\(kind)"
            let names = try DirectoryHandle(path: folder).names().map(\.description)
            paths += names.filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
        }
        return try paths.map { try Document(path: $0) }
    }

    @Test func `every link inside the project leads somewhere`() throws {
        for document in try Self.documents() {
            for link in document.localLinks {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let path = parts[0].isEmpty ? document.path : "\(FileSystem.parentPath(document.path))/\(parts[0])"
                #expect(try FileSystem.exists(path), "\(document.path): \(link)")
                guard parts.count == 2, path.hasSuffix(".md"), try FileSystem.exists(path) else { continue }
                #expect(try Document(path: path).anchors.contains(String(parts[1])), "\(document.path): \(link)")
            }
        }
    }

    @Test func `every verb and option stands in the document of the commands`() throws {
        let text = try Document(path: "\(Machine.projectPath)/Docs/reference/commands.md").text
        let program = try Machine.binaryPath()
        let verbs = try Self.verbs(Self.help(program))
        #expect(verbs.count >= 9)
        for verb in verbs {
            let section = text.split(separator: "\n## ").first { $0.hasPrefix("`backupfs \(verb)") }
            guard let section else {
                Issue.record("Docs/reference/commands.md has no section for \(verb)")
                continue
            }
            let help = try Self.help(program, verb)
            let parts = help.contains("SUBCOMMANDS:") ? Self.verbs(help) : []
            if parts.isEmpty { Self.check(help, verb, section) }
            for part in parts {
                let name = "\(verb) \(part)"
                guard let section = text.split(separator: "\n## ").first(where: { $0.hasPrefix("`backupfs \(name)") }) else {
                    Issue.record("Docs/reference/commands.md has no section for \(name)")
                    continue
                }
                Self.check(try Self.help(program, verb, part), name, section)
            }
        }
    }

    /// `init` writes all settings, those that are not set as comments.
    @Test func `every setting of a store stands in the document of the settings`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("media"))
        try run([
            "\(Machine.binaryPath())", "init", "--store", folder("store"), "--app", "photo-library", "--media", folder("media"),
        ])
        let settings = String(decoding: try folder.read("store/store.yaml"), as: UTF8.self)
        let names = settings.matches(of: /(?m)^(?:# )?([A-Za-z-]+):\s/).map { String($0.1) }
        #expect(Set(names).isSuperset(of: ["formatVersion", "app", "database", "media", "repository", "after-restore"]))
        let text = try Document(path: "\(Machine.projectPath)/Docs/reference/settings.md").text
        for name in names { #expect(text.contains("\n| `\(name)` |"), "Docs/reference/settings.md: \(name)") }
    }

    private static func check(_ help: String, _ verb: String, _ section: Substring) {
        let options = help.matches(of: /(?m)^  (?:(-[a-z]), )?(-{1,2}[a-z-]+)/)
            .flatMap { [$0.1, $0.2].compactMap { $0.map(String.init) } }
        let withoutStore = [
            "app add", "app check", "app schema", "thumbnails", "camera", "checksum", "cache stats", "cache clear", "desktop",
        ]
        #expect(options.contains("--store") || withoutStore.contains(verb), "\(verb)")
        // What every verb takes stands at the top of the document.
        let common: Set = [
            "--version", "-h", "--help", "--password-file", "--log-level", "--log-file", "-q", "--quiet", "-v", "--verbose",
            "--wait",
        ]
        for option in options where !common.contains(option) {
            #expect(section.contains("`\(option)"), "Docs/reference/commands.md: \(verb) \(option)")
        }
    }

    private static func verbs(_ help: String) -> [String] {
        help.matches(of: /(?m)^  ([a-z]+)(?: \(default\))? {2,}[A-Z]/).map { String($0.1) }
    }

    private static func help(_ program: String, _ verb: String...) throws -> String {
        // Lines are broken by the width of the terminal; where there is none, by this one.
        let result = try run(["env", "-i", "COLUMNS=80", program] + verb + ["--help"])
        #expect(result.status == 0)
        return result.output
    }
}
