import Foundation
import SystemIO
import TestSupport
import Testing

/// `check-architecture.py`, which `make check` runs over the sources, finds what it is for.
@Suite struct ArchitectureTests {
    private func check(_ files: [String: String]) throws -> ProgramResult {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        for (path, text) in files {
            let file = "\(folder.path)/Sources/House/\(path)"
            try FileSystem.makeDirectories(String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]))
            try FileSystem.writeFileAtomically(file, Array(text.utf8))
        }
        return try run(["python3", "\(Machine.projectPath)/mount-scripts/check-architecture.py", "--root", folder.path])
    }

    @Test func `folders above one another are in order`() throws {
        let result = try check([
            "Low/Brick.swift": "struct Brick {}\n",
            "High/Wall.swift": "struct Wall { let bricks: [Brick] }\n// Roof is only named in a comment.\n",
            "High/Roof.swift": "struct Roof { let text = \"Door\" }\n",
            "Top/Door.swift": "struct Door { let wall: Wall }\n",
        ])
        #expect(result.status == 0, "\(result.output)")
    }

    @Test(arguments: [
        // A type; a member of an extension; a name in an interpolation.
        "struct Brick { var wall: Wall? }\n", "struct Brick { func climb(_ any: Any) { any.climbed() } }\n",
        "struct Brick { var text: String { \"\\(Wall.self)\" } }\n",
    ])
    func `two folders that use one another are found`(brick: String) throws {
        let result = try check([
            "Low/Brick.swift": brick,
            "High/Wall.swift": "struct Wall { let bricks: [Brick] }\nextension Int {\n    func climbed() {}\n}\n",
        ])
        #expect(result.status == 1)
        #expect(result.output.contains("House: the folders High, Low use one another in a circle"), "\(result.output)")
    }

    /// What the page lists is there under that name, and a developer can read it in one sitting.
    @Test(arguments: [("## The open of", 22), ("## A file that is copied", 35)])
    func `the ways in architecture.md are followed through few files`(heading: String, limit: Int) throws {
        let page = String(
            decoding: try FileSystem.readFile("\(Machine.projectPath)/Docs/explanation/architecture.md"), as: UTF8.self)
        let chapter = try #require(page.components(separatedBy: "\n## ").first { "## \($0)".hasPrefix(heading) })
        let cells = chapter.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("`") }
            .map { $0.split(separator: "|")[1].replacing(/\([^)]*\)/, with: "") }
        let names = cells.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } }
        #expect(names.count <= limit && Set(names).count == names.count && names.count > limit / 2, "\(names.count)")
        let files = try run(["find", "\(Machine.projectPath)/Sources", "-name", "*.swift"]).output
        for name in names { #expect(files.contains("/\(name).swift\n"), "\(name)") }
    }
}
