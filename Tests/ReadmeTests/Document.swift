import TestSupport

/// A Markdown document of the project, as far as these tests look at it.
struct Document {
    /// A command of a `console` block, and what the document says comes out.
    struct Step {
        let line: Int
        let command: String
        var expected: String
    }

    private struct Block {
        let language: String
        /// The number of its first line.
        let line: Int
        var lines: [String]
    }

    let path: String
    let text: String
    private let blocks: [Block]
    /// Everything that is not in a block.
    let prose: [String]

    init(path: String) throws {
        self.path = path
        text = String(decoding: try readFile(path), as: UTF8.self)
        var blocks: [Block] = []
        var prose: [String] = []
        var open: Block?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).enumerated() {
            if line.hasPrefix("```") {
                if let done = open {
                    blocks.append(done)
                    open = nil
                } else {
                    open = Block(language: String(line.dropFirst(3)), line: index + 2, lines: [])
                }
            } else if open != nil {
                open?.lines.append(line)
            } else {
                prose.append(line)
            }
        }
        self.blocks = blocks
        self.prose = prose
    }

    /// The commands of all `console` blocks. A command stands after `$ `; what follows, up to the next one, is its output.
    var steps: [Step] {
        var steps: [Step] = []
        for block in blocks where block.language == "console" {
            for (index, line) in block.lines.enumerated() {
                if line.hasPrefix("$ ") {
                    steps.append(Step(line: block.line + index, command: String(line.dropFirst(2)), expected: ""))
                } else if !steps.isEmpty {
                    steps[steps.count - 1].expected += line + "\n"
                }
            }
        }
        return steps
    }

    /// Files that the document shows whole: `yaml` blocks that begin with the file's name in a comment.
    var files: [(name: String, text: String)] {
        blocks.compactMap { block in
            guard block.language == "yaml", let first = block.lines.first, first.hasPrefix("# "), first.hasSuffix(".yaml") else {
                return nil
            }
            return (String(first.dropFirst(2)), block.lines.joined(separator: "\n") + "\n")
        }
    }

    /// All `yaml` blocks: where they begin, and what is in them.
    var definitions: [(line: Int, text: String)] {
        blocks.filter { $0.language == "yaml" }.map { ($0.line, $0.lines.joined(separator: "\n") + "\n") }
    }

    /// Anchors of the headings, as GitHub and GitLab make them.
    var anchors: Set<String> {
        Set(
            prose.filter { $0.hasPrefix("#") }.map { heading in
                let title = heading.drop { $0 == "#" }.dropFirst().lowercased()
                return String(title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.map { $0 == " " ? "-" : $0 })
            })
    }

    /// Targets of the links that do not leave the project.
    var localLinks: [String] {
        prose.flatMap { line in line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) } }
            .filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
    }
}
