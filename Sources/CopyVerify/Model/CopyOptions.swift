import SystemIO

/// How a copy is verified.
public enum VerificationMode: String, Sendable, CaseIterable {
    /// The size alone.
    case quick
    /// The copy is read back, and its SHA-256 compared with that of the bytes that were read from the source.
    case standard
    /// The same with MD5 besides.
    case thorough
    /// The copy is compared byte for byte with the source, which is read again, and by SHA-256, MD5 and SHA-1.
    case paranoid

    /// Those that are compared.
    var algorithms: Set<HashAlgorithm> {
        switch self {
        case .quick: []
        case .standard: [.sha256]
        case .thorough: [.sha256, .md5]
        case .paranoid: [.sha256, .md5, .sha1]
        }
    }

    var readsBack: Bool { self != .quick }
    var readsSourceAgain: Bool { self == .paranoid }
}

/// What happens to a file whose name is taken in a destination by something else.
public enum ConflictPolicy: String, Sendable, CaseIterable {
    /// The file is not copied there, and the result says so.
    case refuse
    /// The copy gets the next free name: `NAME-2.ext`.
    case rename
}

/// What is copied, and how.
public struct CopyOptions: Sendable, Equatable {
    public var verification: VerificationMode
    /// Whether names that begin with a dot are copied.
    public var includesHidden: Bool
    /// For names that are taken.
    public var conflicts: ConflictPolicy
    /// `nil` for copies straight into the destinations.
    public var label: CameraLabelSettings?

    /// Digests that are computed besides those that the mode needs.
    public var hashes: Set<HashAlgorithm>
    /// Lists of checksums for each destination.
    public var manifests: Set<ManifestKind>
    /// Whether the source is compared with the lists that came with it.
    public var sourceVerification: SourceVerification

    public init(
        verification: VerificationMode = .standard, includesHidden: Bool = false, conflicts: ConflictPolicy = .refuse,
        label: CameraLabelSettings? = nil,
        hashes: Set<HashAlgorithm> = [], manifests: Set<ManifestKind> = [], sourceVerification: SourceVerification = .auto
    ) {
        self.verification = verification
        self.includesHidden = includesHidden
        self.conflicts = conflicts
        self.label = label
        self.hashes = hashes
        self.manifests = manifests
        self.sourceVerification = sourceVerification
    }

    /// All that the options ask for.
    var algorithms: Set<HashAlgorithm> {
        let chosen = verification.algorithms.union(hashes)
        return manifests.reduce(into: chosen) { $0.formUnion($1.algorithms(besides: hashes)) }
    }

    /// The folder of a bag that has the copies.
    static let payload = "data"
    /// A folder that has this file is a bag.
    static let bagDeclaration = ListName.bagDeclaration

    /// Where the copies are in a destination that becomes a bag.
    public static func payloadOfBag(_ destination: String) -> String { "\(destination)/\(payload)" }

    /// The chain of an ASC MHL history that goes on is not copied like a file.
    var leavesOutChain: Bool { manifests.contains(.ascmhl) }
}
