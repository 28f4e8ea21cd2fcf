/// A plot of numbers over time, as SVG in a page. The styles of its parts are the page's: `plot`, `bar`, `axis`.
public struct BarPlot {
    /// A bar.
    public struct Bar {
        /// What it stands for; shown with the value when a pointer rests on the bar.
        public let label: String
        /// From 0 on.
        public let value: UInt64

        public init(label: String, value: UInt64) {
            self.label = label
            self.value = value
        }
    }

    // In units of the picture, which is as wide as the page allows.
    private static let width = 640.0
    private static let height = 150.0
    private static let topMargin = 20.0
    private static let bottomMargin = 20.0

    private let bars: [Bar]
    private let text: (UInt64) -> String

    /// - Parameters:
    ///   - bars: from left to right.
    ///   - text: the words for a value.
    public init(_ bars: [Bar], text: @escaping (UInt64) -> String) {
        self.bars = bars
        self.text = text
    }

    /// The SVG element.
    /// - Parameter name: for programs that read pages out.
    public func svg(name: String) -> String {
        let maximum = bars.map(\.value).max() ?? 0
        let base = Self.height - Self.bottomMargin
        let step = Self.width / Double(max(bars.count, 1))
        let barWidth = max(step * 0.8, 0.5)
        var parts = [
            "<svg class=\"plot\" role=\"img\" aria-label=\"\(HTMLText.escaped(name))\" viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\">"
        ]
        for (index, bar) in bars.enumerated() {
            let share = maximum == 0 ? 0 : Double(bar.value) / Double(maximum)
            // What is there can be seen.
            let barHeight = bar.value == 0 ? 0 : max(share * (base - Self.topMargin), 1)
            let x = Double(index) * step + (step - barWidth) / 2
            parts.append(
                """
                <rect class="bar" x="\(Self.number(x))" y="\(Self.number(base - barHeight))" \
                width="\(Self.number(barWidth))" height="\(Self.number(barHeight))">\
                <title>\(HTMLText.escaped(bar.label)): \(HTMLText.escaped(text(bar.value)))</title></rect>
                """)
        }
        parts.append(
            "<line class=\"axis\" x1=\"0\" y1=\"\(Self.number(base))\" x2=\"\(Int(Self.width))\" y2=\"\(Self.number(base))\"/>")
        parts.append("<text class=\"axis\" x=\"0\" y=\"14\">\(HTMLText.escaped(text(maximum)))</text>")
        if let first = bars.first, let last = bars.last {
            let place = Self.number(Self.height - 5)
            parts.append("<text class=\"axis\" x=\"0\" y=\"\(place)\">\(HTMLText.escaped(first.label))</text>")
            if bars.count > 1 {
                let end = "text-anchor=\"end\" x=\"\(Int(Self.width))\" y=\"\(place)\""
                parts.append("<text class=\"axis\" \(end)>\(HTMLText.escaped(last.label))</text>")
            }
        }
        return (parts + ["</svg>\n"]).joined(separator: "\n")
    }

    /// With two digits at most: the same in every locale.
    private static func number(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return rest == 0 ? "\(hundredths / 100)" : "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
