/// Evidence on a card of what recorded it.
struct CardRule: Sendable {
    /// The stronger rule counts, and of two equally strong ones the one with the longer paths: what only one camera writes
    /// identifies it, before what many write.
    enum Strength: Int, Comparable, Sendable {
        /// A layout of many makers.
        case generic
        /// What one maker's cards often have, and others may have.
        case hint
        /// The names of files: people rename files, and other programs make such names.
        case naming
        /// Folders and formats of one maker.
        case specific
        /// What the camera has written about itself.
        case metadata

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    let type: CameraType
    let strength: Strength
    /// Paths that are all there. They can begin anywhere below the source, or at the source itself.
    let folders: [[NamePattern]]
    /// The paths of files, of which some are there, after folders that they can be anywhere in.
    let files: [[NamePattern]]
    /// Whether a path of one component can be that of the source itself: people give folders names such as `Video`.
    let isForSource: Bool

    private init(_ type: CameraType, _ strength: Strength, folders: [String] = [], files: [String] = [], isForSource: Bool? = nil)
    {
        self.type = type
        self.strength = strength
        self.folders = folders.map(Self.components)
        self.files = files.map(Self.components)
        self.isForSource = isForSource ?? (strength == .specific)
    }

    private static func components(_ path: String) -> [NamePattern] { path.split(separator: "/").map { NamePattern($0) } }

    static let all: [CardRule] = specific + naming + hints + generic

    private static let specific: [CardRule] = [
        CardRule(.red, .specific, folders: ["*.RDM/*.RDC"]),
        CardRule(.red, .specific, folders: ["*.RDM"]),
        CardRule(.red, .specific, folders: ["*.RDC"]),
        CardRule(.red, .specific, files: ["*.R3D"]),
        CardRule(.red, .specific, files: ["DIGITAL_MAG*.BIN"]),
        CardRule(.arri, .specific, files: ["*.ARI", "*.ARX"]),
        CardRule(.arri, .specific, folders: ["ARRIRAW"]),
        CardRule(.blackmagicDesign, .specific, files: ["*.BRAW"]),
        CardRule(.sony, .specific, folders: ["PRIVATE/M4ROOT"]),
        CardRule(.sony, .specific, folders: ["M4ROOT/CLIP"]),
        CardRule(.sony, .specific, folders: ["PRIVATE/XDROOT"]),
        CardRule(.sony, .specific, folders: ["XDROOT/CLIP"]),
        CardRule(.sony, .specific, folders: ["XDROOT"]),
        CardRule(.sony, .specific, folders: ["BPAV/CLPR"]),
        CardRule(.sony, .specific, folders: ["BPAV"]),
        CardRule(.sony, .specific, folders: ["MP_ROOT"]),
        CardRule(.sony, .specific, folders: ["PRIVATE/SONY"]),
        CardRule(.sony, .specific, folders: ["DCIM/###MSDCF"]),
        CardRule(.sony, .specific, folders: ["AVF_INFO"]),
        CardRule(.sony, .specific, files: ["DISCMETA.XML", "MEDPRO.XML", "MEDIAPRO.XML"]),
        CardRule(.sony, .specific, files: ["*.ARW"]),
        CardRule(.canon, .specific, folders: ["CONTENTS/CLIPS*"]),
        CardRule(.canon, .specific, folders: ["XFVC/REEL_*"]),
        CardRule(.canon, .specific, folders: ["PRIVATE/CANON"]),
        CardRule(.canon, .specific, folders: ["DCIM/CANONMSC"]),
        CardRule(.canon, .specific, folders: ["CANONMSC"]),
        CardRule(.canon, .specific, folders: ["DCIM/###CANON"]),
        CardRule(.canon, .specific, folders: ["DCIM/###EOS*"]),
        CardRule(.canon, .specific, files: ["*.CRM", "*.CR2", "*.CR3"]),
        CardRule(.panasonic, .specific, folders: ["CONTENTS/CLIP", "CONTENTS/VIDEO"]),
        CardRule(.panasonic, .specific, folders: ["CONTENTS/AUDIO", "CONTENTS/VIDEO"]),
        CardRule(.panasonic, .specific, folders: ["CONTENTS/CLIP"]),
        CardRule(.panasonic, .specific, folders: ["PRIVATE/PANASONIC"]),
        CardRule(.panasonic, .specific, folders: ["PRIVATE/PANA_GRP"]),
        CardRule(.panasonic, .specific, folders: ["DCIM/###_PANA"]),
        CardRule(.panasonic, .specific, files: ["*.RW2"]),
        CardRule(.fujifilm, .specific, folders: ["DCIM/###_FUJI"]),
        CardRule(.fujifilm, .specific, files: ["*.RAF"]),
        CardRule(.nikon, .specific, folders: ["DCIM/###NIKON"]),
        CardRule(.nikon, .specific, folders: ["DCIM/###ND*"]),
        CardRule(.nikon, .specific, folders: ["DCIM/###NC*"]),
        CardRule(.nikon, .specific, folders: ["DCIM/###NZ*"]),
        CardRule(.nikon, .specific, files: ["*.NEF", "*.NRW", "*.NEV"]),
        CardRule(.goPro, .specific, folders: ["DCIM/###GOPRO"]),
        CardRule(.goPro, .specific, files: ["*.360", "*.GPR"]),
        CardRule(.dji, .specific, folders: ["DCIM/DJI_###"]),
        CardRule(.dji, .specific, folders: ["DCIM/DJI"]),
        CardRule(.insta360, .specific, files: ["*.INSV", "*.INSP"]),
        CardRule(.iPhone, .specific, folders: ["DCIM/###APPLE"]),
    ]

    private static let naming: [CardRule] = [
        CardRule(.goPro, .naming, files: ["GX######.*", "GH######.*", "GL######.*", "GS######.*", "GOPR####.*", "GP######.*"]),
        CardRule(.dji, .naming, files: ["DJI_####.*", "DJI_##############_####_*"]),
        CardRule(.insta360, .naming, files: ["VID_########_######_##_###.*", "LRV_########_######_##_###.*"]),
        CardRule(.red, .naming, files: ["@###_C###_####??_###.*"]),
        CardRule(.arri, .naming, files: ["@###C###_######_????.*", "@_####C###_######_######_*"]),
        CardRule(.blackmagicDesign, .naming, files: ["@###_########_C###.*"]),
        CardRule(.canon, .naming, files: ["@###C###_######??_CANON.*", "MVI_####.*", "_MG_####.*"]),
        CardRule(
            .sony, .naming, files: ["@###C###_######??.*", "C####.MP4", "C####.MTS", "C####.MXF", "DSC0####.*", "_DSC####.*"]),
        CardRule(.nikon, .naming, files: ["DSC_####.*"]),
        CardRule(.fujifilm, .naming, files: ["DSCF####.*"]),
        CardRule(.panasonic, .naming, files: ["P#######.*"]),
        CardRule(.iPhone, .naming, files: ["IMG_####.HEIC", "IMG_####.MOV", "IMG_E####.*"]),
    ]

    private static let hints: [CardRule] = [
        CardRule(.canon, .hint, files: ["IMG_####.JPG"]),
        CardRule(.panasonic, .hint, folders: ["PRIVATE/MISC", "DCIM"]),
        CardRule(.sony, .hint, folders: ["PRIVATE/AVCHD", "DCIM"]),
        CardRule(.sony, .hint, folders: ["XDCAM"]),
        CardRule(.arri, .hint, folders: ["ARRI"]),
        CardRule(.arri, .hint, files: ["CLIPS/*.MXF"]),
        CardRule(.blackmagicDesign, .hint, folders: ["BRAW"]),
        CardRule(.blackmagicDesign, .hint, folders: ["BLACKMAGIC RAW"]),
        CardRule(.red, .hint, folders: ["RED_RAW"]),
        CardRule(.red, .hint, folders: ["REDMAG"]),
        CardRule(.red, .hint, folders: ["R3D"]),
        CardRule(.dji, .hint, folders: ["DJI"]),
        CardRule(.panasonic, .hint, folders: ["P2"]),
        CardRule(.insta360, .hint, folders: ["DCIM/CAMERA##"]),
    ]

    private static let generic: [CardRule] =
        [CardRule(.genericDCIM, .generic, folders: ["DCIM"], isForSource: true)]
        + ["PRIVATE/AVCHD", "AVCHD/BDMV", "CLIPS", "CONTENTS", "PROAV", "MEDIA", "VIDEO", "PHOTO", "PICTURES", "MOVIES"].map {
            CardRule(.genericMedia, .generic, folders: [$0])
        }
}
