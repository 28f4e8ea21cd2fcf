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

    /// - Parameter mark: the start of a final line that stays last, if present.
    mutating func append(_ texts: [String], before mark: String) {
        let end = lines.first { !$0.end.isEmpty }?.end ?? "\n"
        if let last = lines.last, last.end.isEmpty { lines[lines.count - 1] = Line(text: last.text, end: end) }
        let isMarked = lines.last?.text.hasPrefix(mark) == true
        lines.insert(contentsOf: texts.map { Line(text: $0, end: end) }, at: lines.count - (isMarked ? 1 : 0))
    }
}
