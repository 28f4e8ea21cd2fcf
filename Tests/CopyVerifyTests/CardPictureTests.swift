import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import CopyVerify

/// Where cameras put the pictures of their clips, on made-up cards, and the reports that show them.
struct CardPictureTests {
    private static func names(_ path: String) -> [FileName] { BytePath.components(of: Array(path.utf8)) }

    /// A clip, the files of its card, and which of them is its picture.
    private static let cards: [(clip: String, others: [String], picture: String?)] = [
        // Sony.
        (
            "PRIVATE/M4ROOT/CLIP/C0001.MP4",
            ["PRIVATE/M4ROOT/CLIP/C0001M01.XML", "PRIVATE/M4ROOT/THMBNL/C0001T01.JPG", "PRIVATE/M4ROOT/THMBNL/C0002T01.JPG"],
            "PRIVATE/M4ROOT/THMBNL/C0001T01.JPG"
        ),
        (
            "A001/PRIVATE/M4ROOT/CLIP/A001C002_260111AB.MXF", ["A001/PRIVATE/M4ROOT/THMBNL/A001C002_260111ABT01.JPG"],
            "A001/PRIVATE/M4ROOT/THMBNL/A001C002_260111ABT01.JPG"
        ),
        ("M4ROOT/CLIP/C0003.MP4", ["M4ROOT/THMBNL/C0001T01.JPG", "M4ROOT/SUB/C0003S03.MP4"], nil),
        // Canon.
        ("DCIM/100CANON/MVI_0001.MOV", ["DCIM/100CANON/MVI_0001.THM"], "DCIM/100CANON/MVI_0001.THM"),
        ("DCIM/100EOS5D/MVI_0002.MOV", ["DCIM/100EOS5D/MVI_0001.THM", "DCIM/100EOS5D/MVI_0002.JPG"], nil),
        ("CONTENTS/CLIPS001/AA0001/AA000101.MXF", ["CONTENTS/CLIPS001/AA0001/AA000101.XML"], nil),
        // GoPro: each chapter has one.
        (
            "DCIM/100GOPRO/GX010042.MP4",
            ["DCIM/100GOPRO/GL010042.LRV", "DCIM/100GOPRO/GX010042.THM", "DCIM/100GOPRO/GX020042.THM"],
            "DCIM/100GOPRO/GX010042.THM"
        ),
        ("DCIM/100GOPRO/GX020042.MP4", ["DCIM/100GOPRO/GX010042.THM"], nil),
        ("gopr0001.mp4", ["gopr0001.thm"], "gopr0001.thm"),
        // DJI.
        ("DCIM/100MEDIA/DJI_0007.MP4", ["MISC/THM/100/DJI_0007.THM", "MISC/THM/101/DJI_0007.THM"], "MISC/THM/100/DJI_0007.THM"),
        ("card/DCIM/101MEDIA/DJI_0007.MOV", ["card/MISC/THM/101/DJI_0007.THM"], "card/MISC/THM/101/DJI_0007.THM"),
        // RED, Blackmagic and Panasonic have none that can be shown.
        ("A001.RDM/A001_C001_0101AB.RDC/A001_C001_0101AB_001.R3D", ["A001.RDM/A001_C001_0101AB.RDC/A001_C001_0101AB.RMD"], nil),
        ("A001_01110915_C001.braw", ["Proxy/A001_01110915_C001.mp4"], nil),
        ("CONTENTS/VIDEO/0001AB.MXF", ["CONTENTS/ICON/0001AB.BMP"], nil),
        // What is no clip has none, whatever is beside it.
        ("DCIM/100CANON/IMG_0001.CR3", ["DCIM/100CANON/IMG_0001.THM"], nil), ("notes.txt", ["notes.THM"], nil),
        ("C0001", ["C0001.THM"], nil), (".MP4", [".THM"], nil), ("", [], nil),
    ]

    @Test(arguments: cards.indices)
    func `the picture of a clip on a card`(number: Int) {
        let card = Self.cards[number]
        let files = Set(card.others.map(Self.names))
        let found = CardPicture.paths(of: Self.names(card.clip)).first(where: files.contains)
        #expect(found == card.picture.map(Self.names), "\(card.clip)")
        if let found { #expect(CardPicture.isBeside(found), "\(card.clip)") }
        #expect(!CardPicture.isBeside(Self.names(card.clip)), "\(card.clip)")
    }

    @Test func `pictures and small copies of clips`() {
        for path in [
            "DCIM/100GOPRO/GL010042.LRV", "DCIM/100MEDIA/DJI_0001.LRF", "MISC/THM/100/DJI_0001.SCR",
            "DCIM/Camera01/LRV_20260111_1.insv",
            "M4ROOT/SUB/C0003S03.MP4", "m4root/thmbnl/c0001t01.jpg", "a.thm",
        ] { #expect(CardPicture.isBeside(Self.names(path)), "\(path)") }
        for path in [
            "SUB/holiday.MP4", "THMBNL/photo.JPG", "C0001T01.JPG", "C0003S03.MP4", "Proxy/A001.mp4", "ICON/IMG_0001.JPG", "THM",
            "",
        ] { #expect(!CardPicture.isBeside(Self.names(path)), "\(path)") }
    }

    @Test func `a name that is not UTF-8 stays as it is`() {
        let clip = [FileName("DCIM"), FileName(bytes: [0xFF, 0x2E, 0x4D, 0x50, 0x34])]
        #expect(CardPicture.paths(of: clip).first == [FileName("DCIM"), FileName(bytes: [0xFF, 0x2E, 0x54, 0x48, 0x4D])])
    }

    // MARK: Reports

    private static let clips = "\(FileSystem.parentPath(FileSystem.parentPath(#filePath)))/PhotoDataTests/Clips"

    /// Prints the name below each picture of a page, its size, and the colour of its upper left corner.
    private static let reader = """
        import base64, html5lib, subprocess, sys
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(open(sys.argv[1], "rb").read())
        for element in tree.iter("img"):
            open(sys.argv[2], "wb").write(base64.b64decode(element.get("src").split(",", 1)[1]))
            point = subprocess.run(["vips", "getpoint", sys.argv[2], "4", "4"], check=True, capture_output=True, text=True).stdout
            near = [round(float(part) / 40) * 40 for part in point.split()]
            print(element.get("alt").split(",")[0], element.get("width"), element.get("height"), *near)
        """

    @Test func `clips of a card are on the report: frames, and pictures of the camera`() throws {
        let sandbox = try CopySandbox.make(
            """
            card=$R/card; root=$card/PRIVATE/M4ROOT; mkdir -p $root/CLIP $root/THMBNL $root/SUB $card/DCIM/100GOPRO
            cp "$CLIPS/h264-right.mp4" $root/CLIP/C0001.MP4; cp "$CLIPS/hevc.mp4" $root/CLIP/C0002.MP4
            cp "$CLIPS/h264-10-bit-422.mp4" $root/CLIP/C0003.MP4; head -c 5000 /dev/urandom > $root/CLIP/C0004.MXF
            cp "$CLIPS/h264-interlaced.mp4" $root/CLIP/C0005.MP4
            vips black $R/x.v 160 120 --bands 3; vips linear $R/x.v $R/blue.v '1 1 1' '40 40 200' --uchar
            for number in 1 3 4; do vips copy $R/blue.v $root/THMBNL/C000${number}T01.JPG; done
            cp "$CLIPS/h264-baseline.mp4" $root/SUB/C0001S03.MP4
            cp "$CLIPS/mjpeg.avi" $card/DCIM/100GOPRO/MOVI0001.AVI
            head -c 3000 /dev/urandom > $card/DCIM/100GOPRO/GX010001.360; cp $root/THMBNL/C0001T01.JPG $card/DCIM/100GOPRO/GX010001.THM
            vips copy $R/blue.v $card/DCIM/100GOPRO/GOPR0002.JPG
            """.replacing("$CLIPS", with: Self.clips))
        try sandbox.write(Self.reader, to: "pictures.py")
        try sandbox.sh(
            "backupfs copy $R/card $R/a > $R/out; \(ReportTests.job); backupfs report $ID --thumbnails --format html,pdf > $R/out"
        )
        let shown = try sandbox.sh("/usr/bin/python3 $R/pictures.py $J/reports/report.html $R/picture.jpg | sort")
        #expect(
            shown == """
                C0001.MP4 48 64 40 40 200
                C0002.MP4 64 48 200 40 40
                C0003.MP4 160 120 40 40 200
                C0004.MXF 160 120 40 40 200
                GOPR0002.JPG 160 120 40 40 200
                GX010001.360 160 120 40 40 200
                MOVI0001.AVI 64 48 200 40 40
                """)
        #expect(try sandbox.sh("pdfimages -list $J/reports/report.pdf | grep -c jpeg") == "7")
        try sandbox.sh("mkdir $R/images; pdfimages -j $J/reports/report.pdf $R/images/one")
        let sizes = try sandbox.sh(
            "cd $R/images; for f in *.jpg; do echo $(vipsheader -f width $f) $(vipsheader -f height $f); done | sort | uniq -c | xargs"
        )
        #expect(sizes == "4 160 120 1 48 64 2 64 48")
    }
}
