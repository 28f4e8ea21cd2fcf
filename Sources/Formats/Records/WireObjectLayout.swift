import AppData

/// The nested structure of an object's members: fields with dotted names (`security.hasPIN`) are members of inner objects.
struct WireObjectLayout {
    enum Content {
        /// Index of the field.
        case field(Int)
        case object(WireObjectLayout)
    }

    struct Member {
        let name: String
        let content: Content
    }

    /// In writing order
    let members: [Member]

    init(_ fields: [FieldDefinition]) { self.init(fields.enumerated().map { ($1.name[...], $0) }) }

    private init(_ fields: [(name: Substring, index: Int)]) {
        var members: [Member] = []
        var done: Set<Substring> = []
        for field in fields {
            guard let dot = field.name.firstIndex(of: ".") else {
                members.append(Member(name: String(field.name), content: .field(field.index)))
                continue
            }
            let name = field.name[..<dot]
            guard done.insert(name).inserted else { continue }
            let inner = fields.filter { $0.name.hasPrefix(name + ".") }
                .map { ($0.name.dropFirst(name.count + 1), $0.index) }
            members.append(Member(name: String(name), content: .object(WireObjectLayout(inner))))
        }
        self.members = members
    }

    /// - Returns: the member whose name has these bytes.
    func member(named name: String) -> Member? { members.first { $0.name.utf8.elementsEqual(name.utf8) } }
}
