import SystemIO

/// A list of checksums that is written into each destination.
public enum ManifestKind: String, Sendable, CaseIterable {
    /// `SHA256SUMS`, for sha256sum(1).
    case sha256sums
    /// The destination becomes a bag of BagIt 1.0 (RFC 8493).
    case bagit
    /// A generation of an ASC MHL history.
    case ascmhl

    /// The algorithms of digests that it needs when nothing else says which.
    func algorithms(besides chosen: Set<HashAlgorithm>) -> Set<HashAlgorithm> {
        switch self {
        case .sha256sums, .bagit: [.sha256]
        case .ascmhl: chosen.isDisjoint(with: MHLFormat.algorithms) ? [.xxh128] : []
        }
    }
}

/// Whether the source is compared with the lists of checksums that came with it.
public enum SourceVerification: Sendable, Equatable {
    /// With those that are found in its folder.
    case auto
    case off
    /// With this list: its absolute path.
    case file(String)

    /// The text in the record of a job.
    var text: String {
        switch self {
        case .auto: "auto"
        case .off: "off"
        case .file(let path): path
        }
    }

    /// - Parameter text: `auto`, `off` or a path.
    public init(_ text: String) {
        self =
            switch text {
            case "auto": .auto
            case "off": .off
            default: .file(FileSystem.absolutePath(text))
            }
    }
}
