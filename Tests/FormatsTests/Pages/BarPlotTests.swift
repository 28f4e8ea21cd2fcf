import Testing

@testable import Formats

/// Plots in pages.
struct BarPlotTests {
    @Test func `a bar is as high as its value`() {
        let bars: [BarPlot.Bar] = [.init(label: "<a>", value: 5), .init(label: "b", value: 0), .init(label: "c", value: 10)]
        let plot = BarPlot(bars) { "\($0) B" }
        #expect(
            plot.svg(name: "\"Size\"") == """
                <svg class="plot" role="img" aria-label="&quot;Size&quot;" viewBox="0 0 640 150">
                <rect class="bar" x="21.33" y="75" width="170.67" height="55"><title>&lt;a&gt;: 5 B</title></rect>
                <rect class="bar" x="234.67" y="130" width="170.67" height="0"><title>b: 0 B</title></rect>
                <rect class="bar" x="448" y="20" width="170.67" height="110"><title>c: 10 B</title></rect>
                <line class="axis" x1="0" y1="130" x2="640" y2="130"/>
                <text class="axis" x="0" y="14">10 B</text>
                <text class="axis" x="0" y="145">&lt;a&gt;</text>
                <text class="axis" text-anchor="end" x="640" y="145">c</text>
                </svg>

                """)
    }

    @Test func `no bars, bars of nothing, and the largest numbers`() {
        #expect(!BarPlot([]) { "\($0)" }.svg(name: "").contains("rect"))
        #expect(BarPlot([.init(label: "a", value: 0)]) { "\($0)" }.svg(name: "").contains("height=\"0\""))
        let extreme = BarPlot([.init(label: "a", value: .max), .init(label: "b", value: 1)]) { "\($0)" }.svg(name: "")
        #expect(extreme.contains("y=\"20\"") && extreme.contains("height=\"110\"") && extreme.contains("height=\"1\""))
    }

    @Test func `an address is that of a file beside the page, whatever its name`() {
        #expect(PageLink.address([Array("live".utf8)], isFolder: true) == "./live/")
        #expect(PageLink.address([Array("snapshots".utf8), Array("javascript:x".utf8)]) == "./snapshots/javascript%3Ax")
        #expect(PageLink.address([[0xff, 0x20, 0x22, 0x2f, 0x25]]) == "./%FF%20%22%2F%25")
        #expect(PageLink.address([Array("..".utf8)]) == "./..")
    }
}
