import BackupCore
import BackupRepository
import Formats

/// What commands print for programs, with `--json`. Member names are in snake_case; `status.json`, the reports of restores and
/// exports have names of their own, which other programs defined.
extension Terminal {
    /// The version of these documents. It grows when a member is renamed or removed, or means something else; a new member does
    /// not change it.
    static let jsonVersion = 1

    /// Prints a document over several lines, like `jq`.
    static func write(json document: OrderedJSON) { write(versioned(document).prettyText) }

    /// Prints one document of many, on a line of its own.
    static func write(jsonLine document: OrderedJSON) { write(versioned(document).compactText + [10]) }

    /// Every document says which version it has, and so does every element of a list.
    static func versioned(_ document: OrderedJSON) -> OrderedJSON {
        switch document {
        case .object(let members): .object(members + [.init("version", jsonVersion)])
        case .array(let elements): .array(elements.map(versioned))
        default: document
        }
    }
}

extension OrderedJSON {
    /// A file, folder or link in a backup.
    static func entry(
        _ entry: TreeEntry, at path: FileName, in repository: Repository
    ) throws(BackupError) -> OrderedJSON {
        let type =
            switch entry.kind {
            case .file: "file"
            case .directory: "dir"
            case .symbolicLink: "symlink"
            }
        return [
            "path": path, "type": type, "size": entry.size, "mtime": entry.modificationTime,
            "sha256": try repository.checksumsIfReadable(of: entry)?.sha256.hexadecimal,
        ]
    }

    /// The same object with its members' names in snake_case. Their values stay as they are.
    var snakeCased: OrderedJSON {
        guard case .object(let members) = self else { return self }
        return .object(
            members.map { member in
                let name = member.name.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
                return Member(name, member.value)
            })
    }
}
