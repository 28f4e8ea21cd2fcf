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

    var hashesSHA256: Bool { self != .quick }
    var hashesMD5: Bool { self == .thorough || self == .paranoid }
    var hashesSHA1: Bool { self == .paranoid }
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

    public init(
        verification: VerificationMode = .standard, includesHidden: Bool = false, conflicts: ConflictPolicy = .refuse,
        label: CameraLabelSettings? = nil
    ) {
        self.verification = verification
        self.includesHidden = includesHidden
        self.conflicts = conflicts
        self.label = label
    }
}
