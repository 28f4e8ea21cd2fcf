/// The lines of a text by YAML's rules, each with its line ending: a file from another system keeps its line endings.
struct SettingsLines {
    private struct Line {
        var text: String
        let end: String
    }

    private var lines: [Line] = []

    init(_ text: String) {
        var line = ""
        // By code points: a carriage return plus line feed is one Character.
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r" where rest.first == "\n":
                rest.removeFirst()
                lines.append(Line(text: line, end: "\r\n"))
                line = ""
            case "\r", "\n", "\u{85}", "\u{2028}", "\u{2029}":
                lines.append(Line(text: line, end: String(scalar)))
                line = ""
            default: line.unicodeScalars.append(scalar)
            }
        }
        if !line.isEmpty { lines.append(Line(text: line, end: "")) }
    }

    var text: String { lines.map { $0.text + $0.end }.joined() }

    /// - Parameter index: counted from 0.
    subscript(index: Int) -> String? {
        get { lines.indices.contains(index) ? lines[index].text : nil }
        set { if let newValue, lines.indices.contains(index) { lines[index].text = newValue } }
    }

    func firstIndex(beginningWith start: String) -> Int? { lines.firstIndex { $0.text.hasPrefix(start) } }

    var count: Int { lines.count }

    /// The spaces before a line's text.
    func indentation(_ index: Int) -> Int { self[index]?.unicodeScalars.prefix { $0 == " " }.count ?? 0 }

    /// The index after the last line of a block mapping's entry. Its comments belong to it if they are indented more than its
    /// first line, and blank lines if more of it follows.
    /// - Parameter start: the entry's first line.
    func blockEnd(_ start: Int) -> Int {
        let outer = indentation(start)
        var end = start + 1
        for index in end..<max(end, count) {
            let text = (self[index] ?? "").drop { $0 == " " || $0 == "\t" }
            if text.isEmpty { continue }
            if indentation(index) > outer {
                end = index + 1
            } else if !text.hasPrefix("#") {
                break
            }
        }
        return end
    }

    mutating func remove(_ range: Range<Int>) { lines.removeSubrange(range) }

    mutating func insert(_ texts: [String], at index: Int) {
        guard !texts.isEmpty else { return }
        let end = lines.first { !$0.end.isEmpty }?.end ?? "\n"
        if index == lines.count, let last = lines.last, last.end.isEmpty {
            lines[index - 1] = Line(text: last.text, end: end)
        }
        lines.insert(contentsOf: texts.map { Line(text: $0, end: end) }, at: index)
    }

    /// - Parameter mark: the start of a final line that stays last, if present.
    mutating func append(_ texts: [String], before mark: String) {
        let isMarked = lines.last?.text.hasPrefix(mark) == true
        insert(texts, at: lines.count - (isMarked ? 1 : 0))
    }
}
