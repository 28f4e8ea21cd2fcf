import SystemIO
import TestSupport
import Testing

/// Requirement LOG-05. The first pages of two reports of a camera card, as pictures: a complete job as PDF, and one that is not
/// complete as HTML. With `BACKUPFS_PICTURES`, a folder, they are written into it: `make screenshot` makes those of
/// `Docs/images` so.
@Suite(.enabled(if: Machine.isRoot, "a mount namespace needs root"))
struct ReportPictureTests {
    private static let resolution = 96
    /// A4 at this resolution.
    private static let size = "794 1123"

    /// A card of a Sony FX6 at `/media/A001`, which is `$R/media/A001` outside of the namespace.
    private static let card = #"""
        card=$R/media/A001; clips=$card/PRIVATE/M4ROOT/CLIP; mkdir -p $clips $card/DCIM/100MSDCF $R/media/raid $R/media/shuttle $R/media/travel
        for number in 1 2 3 4; do
            vips sines $R/sine.v 900 600 --hfreq $number --vfreq 3; vips linear $R/sine.v $R/grey.v 100 128 --uchar
            vips copy $R/grey.v $card/DCIM/100MSDCF/DSC0000$number.JPG
        done
        for number in 1 2 3 4; do
            head -c $((number * 700000)) /dev/urandom > $clips/A001C00${number}_260111AB.MP4
            printf '<?xml version="1.0" encoding="UTF-8"?>\n<NonRealTimeMeta xmlns="urn:schemas-professionalDisc:nonRealTimeMeta:ver.2.20"><Device manufacturer="Sony" modelName="ILME-FX6V" serialNo="4000254"/></NonRealTimeMeta>\n' \
                > $clips/A001C00${number}_260111ABM01.XML
        done
        printf 'Take 3 is the good one' > $card/notes.txt; find $card -type f -exec touch -d '2026-01-11 09:15:00' {} +
        printf '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="80"><rect width="360" height="80" fill="#1b2733"/><text x="24" y="54" font-family="DejaVu Sans" font-size="38" fill="#ffffff">Example Films</text></svg>' > $R/logo.svg
        vips copy $R/logo.svg $R/logo.png
        """#

    /// Copies the card, and makes `$R/FORMAT`.
    private static func report(_ format: String, to destinations: String...) throws -> Sandbox {
        let sandbox = try CopySandbox.make(card, isOnDisk: true)
        let result = try sandbox.runInNamespace(
            """
            set -e; mount --bind $R/media /media; export TZ=UTC BACKUPFS_NOW=2026-01-11T14:30:00Z
            \(format == "html" ? "printf 'another note' > /media/raid/notes.txt" : ":")
            backupfs copy /media/A001 \(destinations.joined(separator: " ")) > $R/out 2>&1 || [ $? = 3 ]; \(ReportTests.job)
            backupfs report $ID --format \(format) --output $R/reports --company 'Example Films' --client 'Example Television' \
                --production 'The Long Example' --logo $R/logo.png --notes 'Second unit, camera B' --thumbnails > $R/path
            mv "$(cat $R/path)" $R/\(format)
            """)
        try #require(result.exitCode == 0, "\(result.text)")
        return sandbox
    }

    /// Makes a picture of the first page of a PDF, and looks at it.
    /// - Parameter notice: the colour of the line that says whether all is well: its red, green and blue.
    private static func picture(_ pdf: String, _ name: String, notice: [Int], in sandbox: Sandbox) throws {
        try sandbox.sh(
            """
            pdftoppm -r \(resolution) -f 1 -l 1 -singlefile -png \(pdf) $R/page
            vips copy $R/page.png '\(sandbox(name))[palette,Q=90,strip,compression=9]'
            """)
        #expect(try sandbox.sh("cd $R; echo $(vipsheader -f width \(name)) $(vipsheader -f height \(name))") == size)
        // A blank page has one value; a page without fonts has boxes, whose text is there all the same.
        #expect(try #require(Double(sandbox.sh("vips deviate $R/page.png"))) > 10)
        let pixels = try sandbox.sh(
            """
            vips extract_band $R/page.png $R/rgb.v 0 --n 3; vips relational_const $R/rgb.v $R/same.v equal '\(notice.map(String.init).joined(separator: " "))'
            vips bandbool $R/same.v $R/all.v and; vips avg $R/all.v
            """)
        // Of all pixels, those of the notice: 255 where one has its colour.
        #expect(try #require(Double(pixels)) / 255 > 0.02, "\(pixels)")
        if let folder = Machine.environment("BACKUPFS_PICTURES") {
            try sandbox.sh("cp $R/\(name) \"$folder/\(name)\"", ["folder": folder])
        }
    }

    @Test func `the first page of a complete job as a PDF`() throws {
        let sandbox = try Self.report("pdf", to: "/media/raid", "/media/shuttle")
        let text = try sandbox.sh("pdftotext -f 1 -l 1 -layout $R/pdf - | tr -s ' \\f\\n' ' '")
        for part in [
            "Transfer report: A001", "The Long Example", "Every byte arrived at each of 2 destinations.",
            "Camera Sony FX6 Serial number 4000254",
            "/media/raid", "/media/shuttle",
        ] { #expect(text.contains(part), "\(part): \(text)") }
        // The logo is on the first page, the photos are on later ones.
        #expect(try sandbox.sh("pdfimages -list -f 1 -l 1 $R/pdf | tail -n +3 | grep -c image") == "1")
        try Self.picture("$R/pdf", "report-pdf.png", notice: [229, 247, 232], in: sandbox)
    }

    @Test func `the page of a job that is not complete says so first`() throws {
        let sandbox = try Self.report("html", to: "/media/raid", "/media/travel")
        let lines = try ReportPageTests.read("$R/html", in: sandbox).split(separator: "\n").map(String.init)
        #expect(lines.contains("notice bad 1 copy is missing: do not erase the source."), "\(lines)")
        #expect(lines.contains("  Camera | Sony FX6"), "\(lines)")
        #expect(lines.contains("  name is taken | notes.txt | /media/raid | another file has the name in the destination"))
        #expect(lines.filter { $0.hasPrefix("img ") }.count == 5)
    }

    /// By WeasyPrint, which `make screenshot` installs.
    @Test(.enabled(if: Machine.hasTool("weasyprint"), "weasyprint is not there: make screenshot installs it"))
    func `the page of a job that is not complete as a picture`() throws {
        let sandbox = try Self.report("html", to: "/media/raid", "/media/travel")
        try sandbox.sh("weasyprint --quiet $R/html $R/html.pdf")
        #expect(try ReportPageTests.words("$R/html.pdf", in: sandbox).contains("1 copy is missing: do not erase the source."))
        try Self.picture("$R/html.pdf", "report-html.png", notice: [253, 234, 232], in: sandbox)
    }
}
