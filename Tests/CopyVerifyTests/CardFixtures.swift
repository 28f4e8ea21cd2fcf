import CopyVerify

/// Cards as cameras write them, with what is to be found out.
extension CardFixture {
    static let all: [CardFixture] = sony + canon + panasonic + cinema + action + photo + others

    static func clipXML(_ model: String, _ serial: String, maker: String = "Sony") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <NonRealTimeMeta xmlns="urn:schemas-professionalDisc:nonRealTimeMeta:ver.2.20" lastUpdate="2024-01-01T10:00:00+01:00">
          <Duration value="1234"/><Device manufacturer="\(maker)" modelName="\(model)" serialNo="\(serial)"/>
        </NonRealTimeMeta>
        """
    }

    private static let sony: [CardFixture] = [
        CardFixture(
            "Sony FX6: XAVC, with the model in the XML of a clip", .sonyFX6,
            [
                "PRIVATE/M4ROOT/CLIP/A001C00{1..3}_240101AB.MXF", "PRIVATE/M4ROOT/SUB/A001C001_240101ABS03.MP4",
                "PRIVATE/M4ROOT/THMBNL/A001C001_240101ABT01.JPG", "PRIVATE/M4ROOT/MEDIAPRO.XML",
            ],
            content: ["PRIVATE/M4ROOT/CLIP/A001C001_240101ABM01.XML": clipXML("ILME-FX6V", "4000254")],
            model: "ILME-FX6V", serial: "4000254", reel: "A001", clips: 3),
        CardFixture(
            "Sony FX3: a serial number that is none", .sonyFX3,
            ["PRIVATE/M4ROOT/CLIP/C000{1..2}.MP4", "DCIM/100MSDCF/DSC00001.ARW"],
            content: ["PRIVATE/M4ROOT/CLIP/C0001M01.XML": clipXML("ILME-FX3", "4294967295")], model: "ILME-FX3", clips: 2,
            photos: 1),
        CardFixture(
            "Sony A7S III", .sonyA7S, ["PRIVATE/M4ROOT/CLIP/C0001.MP4", "DCIM/100MSDCF/DSC0000{1..4}.JPG"],
            content: ["PRIVATE/M4ROOT/CLIP/C0001M01.XML": clipXML("ILCE-7SM3", "05000452")], model: "ILCE-7SM3",
            serial: "05000452",
            clips: 1, photos: 4),
        CardFixture(
            "Sony FX30 is no FX3", .sony, ["PRIVATE/M4ROOT/CLIP/C0001.MP4"],
            content: ["PRIVATE/M4ROOT/CLIP/C0001M01.XML": clipXML("ILME-FX30", "1")], model: "ILME-FX30", serial: "1", clips: 1),
        CardFixture(
            "Sony AX100: the model in MEDIAPRO.XML", .sony, ["M4ROOT/CLIP/C000{1..2}.MP4"],
            content: [
                "M4ROOT/MEDIAPRO.XML":
                    "<MediaProfile xmlns=\"http://xmlns.sony.net/pro/metadata/mediaprofile\"><Properties><System systemId=\"784B87FFFEBA9815\" systemKind=\"FDR-AX100 ver.1.10\"/></Properties></MediaProfile>"
            ], model: "FDR-AX100", clips: 2),
        CardFixture(
            "Sony XDCAM disc", .sony,
            ["XDROOT/Clip/C000{1..2}.MXF", "XDROOT/Clip/C0001M01.XML", "XDROOT/Sub/C0001S01.MXF", "XDROOT/DISCMETA.XML"],
            clips: 2),
        CardFixture(
            "Sony XDCAM EX: a clip in two folders", .sony,
            [
                "BPAV/CLPR/724_0001_01/724_0001_01.MP4", "BPAV/CLPR/724_0001_02/724_0001_02.MP4",
                "BPAV/CLPR/724_0002_01/724_0002_01.MP4", "BPAV/TAKR/724_0001/724_0001M01.XML",
            ],
            clips: 2),
        CardFixture("Sony: MP_ROOT and DCIM", .sony, ["MP_ROOT/100ANV01/MAH0{1..3}.MP4", "DCIM/"], clips: 3),
        CardFixture("Sony stills", .sony, ["DCIM/100MSDCF/DSC0{1001..1005}.JPG"], photos: 5),
        CardFixture("AVCHD with DCIM: a guess", .sony, .low, ["PRIVATE/AVCHD/BDMV/STREAM/0000{0..2}.MTS", "DCIM/"], clips: 3),
        CardFixture("Sony names alone", .sony, .medium, ["C000{1..4}.MP4", "C0001M01.XML"], clips: 4),
    ]

    private static let canon: [CardFixture] = [
        CardFixture(
            "Canon XF: files of 2 GB", .canon,
            [
                "CONTENTS/CLIPS001/AA0001/AA00010{1..3}.MXF", "CONTENTS/CLIPS001/AA0001/AA0001.CPF",
                "CONTENTS/CLIPS001/AA0002/AA000201.MXF", "CONTENTS/CLIPS001/AA0002/AA0002.XML",
            ],
            clips: 2),
        CardFixture(
            "Canon C70: XF-AVC, with the model in the XML", .canonC70,
            ["CONTENTS/CLIPS001/A001C00{1..2}_240101AB_CANON.MXF", "DCIM/"],
            content: [
                "CONTENTS/CLIPS001/A001C001_240101AB_CANON.XML":
                    "<VideoClip><Device><Manufacturer>CANON</Manufacturer><ModelName>EOS C70</ModelName><SerialNo>652876300028</SerialNo></Device></VideoClip>"
            ], model: "EOS C70", serial: "652876300028", reel: "A001", clips: 2),
        CardFixture(
            "Canon Cinema RAW Light", .canon, ["CONTENTS/CLIPS001/A002C00{1..2}_240101AB_CANON.CRM"], reel: "A002", clips: 2),
        CardFixture("Canon XF-AVC S", .canon, ["XFVC/REEL_001/A001C00{1..2}_240101AB_CANON.MP4"], reel: "A001", clips: 2),
        CardFixture(
            "Canon EOS: DCIM, MISC and CANONMSC", .canon,
            [
                "DCIM/100CANON/IMG_000{1..3}.CR3", "DCIM/100CANON/IMG_000{1..3}.JPG", "DCIM/100CANON/MVI_0004.MP4",
                "DCIM/CANONMSC/M0100.CTG", "MISC/AUTPRINT.MRK",
            ],
            clips: 1, photos: 3),
        CardFixture(
            "Canon EOS R: a folder of its model", .canon, ["DCIM/100EOSR6/IMG_000{1..2}.JPG", "DCIM/100EOSR6/MVI_0003.MP4"],
            clips: 1, photos: 2),
        CardFixture("Canon: PRIVATE/CANON", .canon, ["PRIVATE/CANON/x.DAT", "DCIM/100___01/IMG_0001.JPG"], photos: 1),
        CardFixture(
            "DCIM and MISC are of many makers", .genericDCIM, .medium, ["DCIM/100ABCDE/F{1001..1003}.JPG", "MISC/"], photos: 3),
    ]

    private static let p2Device =
        "<ClipMetadata><Device><Manufacturer>Panasonic</Manufacturer><SerialNo.>B4TCA0123</SerialNo.><ModelName>AJ-PX380</ModelName></Device></ClipMetadata>"

    private static let panasonic: [CardFixture] = [
        CardFixture(
            "Panasonic P2: sound, icons and video of two clips, one of which goes on", .panasonic,
            [
                "CONTENTS/VIDEO/000{1..2}AB.MXF", "CONTENTS/AUDIO/0001AB0{0..3}.MXF", "CONTENTS/AUDIO/0002AB0{0..3}.MXF",
                "CONTENTS/ICON/000{1..2}AB.BMP", "CONTENTS/PROXY/", "CONTENTS/VOICE/", "LASTCLIP.TXT",
            ],
            content: [
                "CONTENTS/CLIP/0001AB.XML":
                    "<P2Main xmlns=\"urn:schemas-Professional-Plug-in:P2:ClipMetadata:v3.0\"><ClipContent><GlobalClipID>ID1</GlobalClipID>\(p2Device)</ClipContent></P2Main>",
                "CONTENTS/CLIP/0002AB.XML":
                    "<P2Main xmlns=\"urn:schemas-Professional-Plug-in:P2:ClipMetadata:v3.0\"><ClipContent><GlobalClipID>ID2</GlobalClipID><Relation><Connection><Top><GlobalClipID>ID2</GlobalClipID></Top><Next><GlobalClipID>ID3</GlobalClipID></Next></Connection></Relation>\(p2Device)</ClipContent></P2Main>",
            ], model: "AJ-PX380", serial: "B4TCA0123", clips: 2, spans: ["CONTENTS/CLIP/0002AB.XML continues"]),
        CardFixture(
            "Panasonic P2 without metadata", .panasonic, ["CONTENTS/VIDEO/0001AB.MXF", "CONTENTS/AUDIO/0001AB00.MXF"], clips: 1),
        CardFixture(
            "Panasonic GH: DCIM", .panasonic, ["DCIM/100_PANA/P10000{01..03}.RW2", "DCIM/100_PANA/P1000004.MP4"], clips: 1,
            photos: 3),
        CardFixture(
            "Panasonic AVCHD", .panasonic, ["PRIVATE/AVCHD/BDMV/STREAM/00000.MTS", "PRIVATE/PANA_GRP/x.DAT", "DCIM/"], clips: 1),
        CardFixture("Panasonic: PRIVATE/PANASONIC and DCIM", .panasonic, ["PRIVATE/PANASONIC/x.DAT", "DCIM/"]),
        CardFixture("PRIVATE/MISC and DCIM: a guess", .panasonic, .low, ["PRIVATE/MISC/x.DAT", "DCIM/"]),
        CardFixture("Panasonic names alone", .panasonic, .medium, ["P10100{01..04}.JPG"], photos: 4),
    ]

    private static let ale =
        "Heading\r\nFIELD_DELIM\tTABS\r\nFPS\t24\r\n\r\nColumn\r\nName\tTracks\tManufacturer\tCamera_model\tCamera_SN\r\n\r\nData\r\nA003C001_190625_R24Y\tV\tARRI\tALEXA 35\t50123\r\n"

    private static let cinema: [CardFixture] = [
        CardFixture(
            "ARRI: ProRes with a log of clips", .arriAlexa, ["A003R24Y/A003C00{1..2}_190625_R24Y.mov"],
            content: ["A003R24Y/A003R24Y_AVID.ale": ale],
            model: "ALEXA 35", serial: "50123", reel: "A003", clips: 2),
        CardFixture(
            "ARRI: ARRIRAW frames are one clip", .arri, ["ARRI/A003C001_190625_R24Y/A003C001_190625_R24Y.00{49275..49285}.ari"],
            reel: "A003", clips: 1),
        CardFixture(
            "ARRI: frames of HDE", .arri, ["A003C001_190625_R24Y/A003C001_190625_R24Y.00{49275..49277}.arx"], reel: "A003",
            clips: 1),
        CardFixture("ARRI: MXF by its names", .arri, .medium, ["CLIPS/A003C00{1..3}_190625_R24Y.mxf"], reel: "A003", clips: 3),
        CardFixture(
            "ARRI Amira", .arriAmira, ["A004C00{1..2}_190625_R24Y.mov"],
            content: ["x.ALE": ale.replacing("ALEXA 35", with: "AMIRA")], model: "AMIRA", serial: "50123", reel: "A004", clips: 2),
        CardFixture(
            "RED: a clip of three files, and one whose first file is missing", .red,
            [
                "A001_0101AB.RDM/A001_C001_0101AB.RDC/A001_C001_0101AB_00{1..3}.R3D",
                "A001_0101AB.RDM/A001_C002_0101CD.RDC/A001_C002_0101CD_00{2..3}.R3D", "digital_magazine.bin",
            ],
            reel: "A001", clips: 2, spans: ["A001_0101AB.RDM/A001_C002_0101CD.RDC/A001_C002_0101CD_002.R3D continued"]),
        CardFixture(
            "RED: a folder of a clip alone, without its second file", .red,
            ["A001_C001_0101AB.RDC/A001_C001_0101AB_001.R3D", "A001_C001_0101AB.RDC/A001_C001_0101AB_003.R3D"], reel: "A001",
            clips: 1,
            spans: ["A001_C001_0101AB.RDC/A001_C001_0101AB_001.R3D incomplete"]),
        CardFixture(
            "Blackmagic RAW", .blackmagicDesign, ["A001_0815151{1..3}_C001.braw", "A001_08151511_C001.sidecar"], reel: "A001",
            clips: 3),
        CardFixture(
            "Blackmagic: ProRes by its names", .blackmagicDesign, .medium, ["BRAW/A001_0815151{1..3}_C001.mov"], reel: "A001",
            clips: 3),
        CardFixture(
            "CinemaDNG frames are one clip", .blackmagicDesign, .low,
            ["BRAW/A001_08151512_C001/A001_08151512_C001_0000{01..12}.dng"], reel: "A001", clips: 1),
    ]

    private static let version =
        #"{"info version":"2.0","firmware version":"HD9.01.01.72.00","camera type":"HERO9 Black","camera serial number":"C3441325071234",}"#

    private static let action: [CardFixture] = [
        CardFixture(
            "GoPro: chapters of two clips, and the second one has no first chapter", .goPro,
            [
                "DCIM/100GOPRO/GX0{1..3}0001.MP4", "DCIM/100GOPRO/GX0{1..3}0001.THM", "DCIM/100GOPRO/GL0{1..3}0001.LRV",
                "DCIM/100GOPRO/GX020002.MP4", "DCIM/100GOPRO/GOPR0003.JPG",
            ],
            content: ["MISC/version.txt": version], model: "HERO9 Black", serial: "C3441325071234", clips: 2, photos: 1,
            spans: ["DCIM/100GOPRO/GX020002.MP4 continued"]),
        CardFixture(
            "GoPro, an older one: DCIM and MISC", .goPro,
            ["DCIM/101GOPRO/GOPR0001.MP4", "DCIM/101GOPRO/GP0{1..2}0001.MP4", "MISC/"], clips: 1),
        CardFixture("GoPro names alone", .goPro, .medium, ["GH010001.MP4", "GH010002.MP4", "GH020002.MP4"], clips: 2),
        CardFixture("GoPro MAX", .goPro, ["DCIM/100GOPRO/GS010001.360", "DCIM/100GOPRO/GS010001.LRV"], clips: 1),
        CardFixture(
            "DJI: 100MEDIA", .dji, .medium,
            [
                "DCIM/100MEDIA/DJI_000{1..3}.MP4", "DCIM/100MEDIA/DJI_000{1..3}.SRT", "DCIM/100MEDIA/DJI_0004.DNG",
                "DCIM/100MEDIA/DJI_0004.JPG", "MISC/",
            ], clips: 3, photos: 1),
        CardFixture(
            "100MEDIA of another maker", .genericDCIM, .medium, ["DCIM/100MEDIA/YDXJ000{1..3}.MP4", "MISC/"], clips: 3),
        CardFixture(
            "100MEDIA with one photo of a DJI among others", .genericDCIM, .medium,
            ["DCIM/100MEDIA/DJI_0001.JPG", "DCIM/100MEDIA/YDXJ00{01..20}.JPG"], photos: 21),
        CardFixture("DJI: DJI_001", .dji, ["DCIM/DJI_001/DJI_2024010112000{1..2}_000{1..2}_D.MP4", "MISC/"], clips: 4),
        CardFixture("DJI names alone", .dji, .medium, ["DJI_000{1..3}.MP4"], clips: 3),
        CardFixture(
            "Insta360: two lenses and a proxy are one clip", .insta360,
            [
                "DCIM/Camera01/VID_20240101_120000_00_001.insv", "DCIM/Camera01/VID_20240101_120000_10_001.insv",
                "DCIM/Camera01/LRV_20240101_120000_11_001.insv", "DCIM/Camera01/IMG_20240101_120500_00_002.insp",
            ], clips: 1, photos: 1),
    ]

    private static let photo: [CardFixture] = [
        CardFixture(
            "Fujifilm", .fujifilm,
            ["DCIM/100_FUJI/DSCF000{1..3}.RAF", "DCIM/100_FUJI/DSCF000{1..3}.JPG", "DCIM/100_FUJI/DSCF0004.MOV"], clips: 1,
            photos: 3),
        CardFixture("Fujifilm names alone", .fujifilm, .medium, ["DSCF000{1..3}.JPG"], photos: 3),
        CardFixture(
            "Nikon: D850", .nikon, ["DCIM/100ND850/DSC_000{1..3}.NEF", "DCIM/100ND850/DSC_0004.MOV"], clips: 1, photos: 3),
        CardFixture(
            "Nikon: Z9, with N-RAW and a proxy", .nikon, ["DCIM/100NCZ_9/DSC_0001.NEV", "DCIM/100NCZ_9/DSC_0002.JPG"], clips: 1,
            photos: 1),
        CardFixture("Nikon names alone", .nikon, .medium, ["DSC_000{1..3}.JPG"], photos: 3),
        CardFixture(
            "iPhone: the movie of a live photo is no clip", .iPhone,
            ["DCIM/100APPLE/IMG_000{1..3}.HEIC", "DCIM/100APPLE/IMG_000{1..2}.MOV", "DCIM/100APPLE/IMG_0004.MOV"], clips: 1,
            photos: 3),
        CardFixture("iPhone names alone", .iPhone, .medium, ["IMG_100{1..4}.HEIC"], photos: 4),
    ]

    private static let others: [CardFixture] = [
        CardFixture("DCIM of no known camera", .genericDCIM, .medium, ["DCIM/Camera/20240101_12000{1..3}.jpg"], photos: 3),
        CardFixture(
            "one photo, and lists of checksums", .nikon, .medium,
            [
                "DCIM/100ABCDE/DSC_0001.JPG", "MD5SUMS", "SHA256SUMS", "card.xxh64", "card.mhl",
                "ascmhl/0001_card_2026-01-11_143000Z.mhl",
                "ascmhl/ascmhl_chain.xml", "DCIM/ascmhl/0001_DCIM_2026-01-11_143000Z.mhl", "DCIM/ascmhl/ascmhl_chain.xml",
            ], photos: 1),
        CardFixture(
            "one photo in a bag", .fujifilm, .medium,
            [
                "data/DSCF0001.JPG", "bagit.txt", "bag-info.txt", "manifest-sha256.txt", "manifest-md5.txt",
                "tagmanifest-sha256.txt",
            ], photos: 1),
        CardFixture("AVCHD alone", .genericMedia, .low, ["PRIVATE/AVCHD/BDMV/STREAM/00000.MTS"], clips: 1),
        CardFixture("PROAV", .genericMedia, .low, ["PROAV/CLIPS/x.dat"]),
        CardFixture("a folder of movies", .genericMedia, .low, ["Movies/holiday.mkv", "Movies/garden.mkv"], clips: 2),
        CardFixture("documents", .generic, .low, ["letters/one.txt", "two.pdf"]),
        CardFixture("nothing", .generic, .low, []),
        CardFixture(
            "a few photos that look like a camera's, among others", .genericDCIM, .medium,
            ["DCIM/DSC_0001.JPG", "DCIM/holiday-{01..20}.JPG"], photos: 21),
    ]
}
