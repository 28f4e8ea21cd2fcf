/// What recorded a card; the raw value is its name.
public enum CameraType: String, Sendable, CaseIterable {
    case sony = "Sony"
    case sonyFX6 = "Sony FX6"
    case sonyFX3 = "Sony FX3"
    case sonyA7S = "Sony A7S"
    case canon = "Canon"
    case canonC70 = "Canon C70"
    case arri = "ARRI"
    case arriAlexa = "ARRI Alexa"
    case arriAmira = "ARRI Amira"
    case red = "RED"
    case redCamera = "RED Camera"
    case redDragon = "RED Dragon"
    case blackmagicDesign = "Blackmagic Design"
    case blackmagicPocket = "Blackmagic Pocket"
    case panasonic = "Panasonic"
    case fujifilm = "Fujifilm"
    case nikon = "Nikon"
    case goPro = "GoPro"
    case dji = "DJI"
    case insta360 = "Insta360"
    case iPhone = "iPhone"
    /// The layout of still cameras, of no known make.
    case genericDCIM = "Generic DCIM"
    /// Folders of media that no camera is known by.
    case genericMedia = "Generic Media"
    case generic = "Generic"

    /// The maker's own type, of any model; `nil` for a maker that is not known here.
    /// - Parameter name: as in the metadata of a clip: `Sony`, `CANON`.
    init?(maker name: String) {
        let key = name.lowercased()
        guard let found = Self.makers.first(where: { key.hasPrefix($0.name) }) else { return nil }
        self = found.type
    }

    private static let makers: [(name: String, type: CameraType)] = [
        ("sony", .sony), ("canon", .canon), ("arri", .arri), ("red", .red), ("blackmagic", .blackmagicDesign),
        ("panasonic", .panasonic), ("fuji", .fujifilm), ("nikon", .nikon), ("gopro", .goPro), ("dji", .dji),
        ("insta360", .insta360), ("apple", .iPhone),
    ]

    /// The type of a model of this maker, if it has one of its own.
    /// - Parameter model: the maker's product code: `ILME-FX6V`, `EOS C70`.
    func refined(by model: String) -> CameraType {
        let key = model.uppercased()
        return switch self {
        case .sony where key.hasPrefix("ILME-FX6"): .sonyFX6
        // Not the FX30.
        case .sony where key == "ILME-FX3" || key.hasPrefix("ILME-FX3A"): .sonyFX3
        case .sony where key.hasPrefix("ILCE-7S"): .sonyA7S
        case .canon where key.split(separator: " ").contains("C70"): .canonC70
        case .arri where key.contains("ALEXA"): .arriAlexa
        case .arri where key.contains("AMIRA"): .arriAmira
        case .red where key.contains("DRAGON"): .redDragon
        case .blackmagicDesign where key.contains("POCKET"): .blackmagicPocket
        default: self
        }
    }

    /// Whether no maker is known.
    var isGeneric: Bool { self == .generic || self == .genericMedia || self == .genericDCIM }
}
