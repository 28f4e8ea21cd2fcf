import BackupCore
import PhotoData
import SystemIO

/// A condition that a photo fulfils or not: `camera=Canon*`, `date>=2024-06-01`, `path=holiday/**`, `rating>=4`.
public struct PhotoRule: Sendable, Equatable {
    private enum Field: String, CaseIterable { case camera, date, path, rating, keyword, type }

    private enum Comparison: String, CaseIterable {
        // The longer ones first: they begin with the shorter ones.
        case notBelow = ">="
        case notAbove = "<="
        case equal = "="
        case above = ">"
        case below = "<"
    }

    private let field: Field
    private let comparison: Comparison
    private let value: String

    /// - Throws: `usage` for a text that is no rule.
    public init(parsing text: String) throws(BackupError) {
        let name = text.prefix { $0.isLetter }
        let rest = text.dropFirst(name.count)
        guard let field = Field(rawValue: String(name)),
            let comparison = Comparison.allCases.first(where: { rest.hasPrefix($0.rawValue) })
        else { throw Self.unusable(text) }
        value = String(rest.dropFirst(comparison.rawValue.count))
        self.field = field
        self.comparison = comparison
        let isUsable =
            switch field {
            case .rating: comparison == .equal || Int(value) != nil
            case .date: comparison == .equal || Self.isDate(value)
            case .camera, .path, .keyword, .type: comparison == .equal
            }
        guard isUsable, !value.isEmpty else { throw Self.unusable(text) }
    }

    private static func unusable(_ text: String) -> BackupError {
        BackupError(
            .usage, "“\(MessageText.shortened(text))” is no rule for photos",
            remedy: "Write such as camera=Canon*, date>=2024-06-01, path=holiday/**, rating>=4, keyword=beach or type=video.")
    }

    /// `2024`, `2024-06` or `2024-06-01`.
    private static func isDate(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return (1...3).contains(parts.count) && parts[0].utf8.count == 4
            && parts.dropFirst().allSatisfy { $0.utf8.count == 2 } && parts.allSatisfy { UInt($0) != nil }
    }

    /// Whether it can be decided without reading the photo.
    public var isOfPath: Bool { field == .path }

    /// - Parameters:
    ///   - path: in the media folder.
    ///   - photo: `nil` for a file that says nothing of itself: then only rules of paths hold.
    public func holds(path: String, _ photo: PhotoMetadata?) -> Bool {
        switch field {
        case .path: return Self.matches(path, value)
        case .camera:
            let (make, model) = (photo?.cameraMake ?? "", photo?.cameraModel ?? "")
            return [make, model, "\(make) \(model)"].contains { !$0.isEmpty && matchesFolded($0) }
        case .keyword: return photo?.keywords.contains { matchesFolded($0) } ?? false
        case .type: return photo.map { ($0.mediaType == .image ? "image" : "video") == value } ?? false
        case .rating:
            guard let rating = photo?.rating else { return false }
            if comparison == .equal { return "\(rating)" == value }
            return Int(value).map { compare(rating, $0) } ?? false
        case .date:
            // The wall clock, as everywhere.
            guard let day = photo?.dateTaken?.local.dateText else { return false }
            if comparison == .equal { return Self.matches(day, value) || day.hasPrefix("\(value)-") }
            // A month is compared with months.
            return compare(String(day.prefix(value.count)), value)
        }
    }

    private func matchesFolded(_ text: String) -> Bool { Self.matches(text.lowercased(), value.lowercased()) }

    private func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch comparison {
        case .equal: left == right
        case .notBelow: left >= right
        case .notAbove: left <= right
        case .above: left > right
        case .below: left < right
        }
    }

    /// `*` stands for any characters but `/`, `**` for any, `?` for one.
    static func matches(_ text: String, _ pattern: String) -> Bool {
        matches(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
    }

    private static func matches(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        // The places in the text that the pattern so far can end at: the time does not explode with many stars.
        var places: Set<Int> = [text.startIndex]
        var rest = pattern
        while let next = rest.popFirst() {
            var after: Set<Int> = []
            if next == "*" {
                var crossesFolders = false
                while rest.first == "*" {
                    crossesFolders = true
                    rest.removeFirst()
                }
                for place in places where !after.contains(place) {
                    var end = place
                    after.insert(end)
                    while end < text.endIndex, crossesFolders || text[end] != "/" {
                        end += 1
                        after.insert(end)
                    }
                }
            } else {
                for place in places where place < text.endIndex && (next == "?" ? text[place] != "/" : text[place] == next) {
                    after.insert(place + 1)
                }
            }
            places = after
        }
        return places.contains(text.endIndex)
    }
}

/// Finds the photos of a media folder that fulfil all of some rules.
public struct PhotoSearch {
    private static let depthLimit = 64
    private let folder: PhotoFolder
    private let rules: [PhotoRule]

    public init(_ folder: PhotoFolder, _ rules: [PhotoRule]) {
        self.folder = folder
        self.rules = rules
    }

    /// - Parameters:
    ///   - helper: the program that reads photos.
    ///   - found: called with each path in the media folder. Edited versions in an Apple Photos library are left out.
    ///   - unreadable: called for a file that could not be read.
    /// - Throws: `notSupported` when no photo can be read; errors of `found`.
    public func run(
        helper: String? = MediaHelper.installedProgram, unreadable: (BackupError) -> Void,
        found: (String) throws(BackupError) -> Void
    ) throws(BackupError) {
        let reader = MediaHelper(program: helper)
        var folders = [""]
        while let next = folders.popLast() {
            let place = next.isEmpty ? folder.root : "\(folder.root)/\(next)"
            var files: [String] = []
            try DirectoryHandle(path: place).forEachFileAndFolder { (name, isFolder) throws(BackupError) in
                guard let text = String(validating: name.bytes, as: UTF8.self), !text.hasPrefix(".") else { return }
                let path = next.isEmpty ? text : "\(next)/\(text)"
                if isFolder {
                    if path.utf8.count(where: { $0 == UInt8(ascii: "/") }) < Self.depthLimit { folders.append(path) }
                } else {
                    files.append(path)
                }
            }
            for path in files.sorted() {
                try Cancellation.check()
                do throws(BackupError) {
                    if try holds(path, reader) { try found(path) }
                } catch {
                    guard error.path != nil, error.code != .interrupted else { throw error }
                    unreadable(error)
                }
            }
        }
    }

    private func holds(_ path: String, _ reader: MediaHelper) throws(BackupError) -> Bool {
        guard rules.allSatisfy({ !$0.isOfPath || $0.holds(path: path, nil) }), folder.isOriginal(path) else { return false }
        let file = try folder.open(path)
        let photo: PhotoMetadata
        switch try reader.metadata(of: file) {
        case .found(let found): photo = found
        // What is no photo is not starred by a rule.
        case .nothing, .unreadable: return false
        case .helperMissing(let error): throw error
        }
        return rules.allSatisfy { $0.holds(path: path, photo) }
    }
}
