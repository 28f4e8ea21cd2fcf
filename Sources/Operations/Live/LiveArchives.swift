import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The files made from all live files: the list of their checksums, and the archives with the list and the files.
struct LiveArchives: Sendable {
    private static let listingName: FileName = "SHA256SUMS"
    private static let names = [listingName] + ArchiveFormat.allCases.map(\.fileName)

    let state: LiveState

    /// All of them with their exact sizes. This walks the media folder but does not open its files.
    func entries() throws(BackupError) -> [LiveEntry] {
        let all = try members()
        let listing = LiveListing(all, state.checksums)
        let members = try placed(all)
        var zip = ZIPLayout.SizeCounter()
        var tar = TARLayout.SizeCounter()
        if hasListing { try zip.append(member(listing, crc32: 0)) }
        for member in members {
            let measured = archived(member, content: member.outline(state.rendering.export), crc32: 0)
            try zip.append(measured)
            try tar.append(measured)
        }
        if hasListing { try tar.append(member(listing, crc32: 0)) }
        return [
            listingEntry(listing), archive(.tar, members, tar.archivedSize), archive(.zip, members, zip.archivedSize),
        ]
    }

    /// An app's own layout has no place for a list.
    private var hasListing: Bool { state.archiveLayout.isIdentity }

    /// The members at their places in the app's own layout.
    private func placed(_ members: [LiveMember]) throws(BackupError) -> [LiveMember] {
        guard !hasListing else { return members }
        let names = try state.archiveNames()
        let filled = Set(
            members.compactMap { member in member.path.lastIndex(of: UInt8(ascii: "/")).map { Array(member.path[..<$0]) } })
        var placed: [LiveMember] = []
        for member in members {
            let isFolder = member.entry.kind == .directory
            if isFolder, !names.listsFilledFolders, filled.contains(member.path) { continue }
            let path = isFolder ? member.path + [UInt8(ascii: "/")] : member.path
            guard let usual = state.archiveLayout.archivePath(of: path), !usual.isEmpty else { continue }
            for name in isFolder ? [Array(usual.dropLast())] : names.paths(of: path, usual: usual) {
                placed.append(LiveMember(path: name, entry: member.entry, source: member.source, linkTarget: member.linkTarget))
            }
        }
        return placed
    }

    /// - Returns: `nil` immediately for any other name.
    func entry(named name: FileName) throws(BackupError) -> LiveEntry? {
        guard Self.names.contains(name) else { return nil }
        return try entries().first { $0.name == name }
    }

    // MARK: The files

    // The content comes from the same files whose sizes were counted: if one changes meanwhile, reading fails.

    private func listingEntry(_ listing: LiveListing) -> LiveEntry {
        entry(
            Self.listingName, listing.size,
            content: { () throws(BackupError) in ExtentTable(literal: try text(listing)) },
            checksums: { () throws(BackupError) in ContentHasher.hash(try text(listing)) })
    }

    private func text(_ listing: LiveListing) throws(BackupError) -> [UInt8] {
        try state.restores.requireNone()
        let text = try listing.text()
        try state.restores.requireNone()
        return text
    }

    private func archive(_ format: ArchiveFormat, _ members: [LiveMember], _ size: UInt64) -> LiveEntry {
        entry(
            format.fileName, size, content: { () throws(BackupError) in try table(format, members) },
            checksums: { () throws(BackupError) in try SourceChecksums.of(TableSource(table(format, members))) })
    }

    private func entry(
        _ name: FileName, _ size: UInt64, content: @escaping @Sendable () throws(BackupError) -> ExtentTable,
        checksums: @escaping @Sendable () throws(BackupError) -> Checksums
    ) -> LiveEntry {
        LiveEntry(
            name: name, kind: .file, permissions: 0o600, size: size, modificationTime: state.rendering.createdAt,
            content: content, checksums: checksums)
    }

    private func table(_ format: ArchiveFormat, _ members: [LiveMember]) throws(BackupError) -> ExtentTable {
        let listing = LiveListing(members, state.checksums)
        // The records were read before the media were listed: a restore in between would combine old records with new media.
        try state.restores.requireNone()
        let table = try format.layout.table { (body) throws(BackupError) in
            switch format {
            case .zip:
                if hasListing { try body(member(listing, crc32: CRC32.of(try listing.text()))) }
                for member in members {
                    try body(archived(member, content: try member.content(), crc32: try member.crc32(state.checksums)))
                }
            case .tar:
                for member in members { try body(archived(member, content: try member.content(), crc32: 0)) }
                // The list needs the checksums of all files. At the end of the archive it delays no other member: the archive is
                // written immediately, and each file is hashed just after it was read.
                if hasListing { try body(member(listing, crc32: 0)) }
            }
        }
        try state.restores.requireNone()
        return table
    }

    // MARK: Members

    private func member(_ listing: LiveListing, crc32: UInt32) -> ArchiveMember {
        ArchiveMember(
            path: Self.listingName.bytes, mode: 0o100600, modificationTime: state.rendering.createdAt, size: listing.size,
            crc32: crc32, content: listing.size == 0 ? [] : [.source(listing, offset: 0, length: listing.size)])
    }

    private func archived(_ member: LiveMember, content: [ContentPiece], crc32: UInt32) -> ArchiveMember {
        let entry = member.entry
        let isFolder = entry.kind == .directory
        let type: UInt32 =
            switch entry.kind {
            case .directory: 0o040000
            case .symbolicLink: 0o120000
            case .file: 0o100000
            }
        return ArchiveMember(
            path: isFolder ? member.path + [UInt8(ascii: "/")] : member.path, mode: type | UInt32(entry.permissions),
            modificationTime: entry.modificationTime, size: isFolder ? 0 : entry.size, crc32: crc32, content: content)
    }

    /// All files and folders except the list and the archives themselves, in the order of a snapshot's archive.
    private func members() throws(BackupError) -> [LiveMember] {
        var members: [LiveMember] = []
        for entry in try state.archived().sorted(by: { $0.name < $1.name }) {
            members.append(LiveMember(path: entry.name.bytes, entry: entry))
            switch entry.name {
            case "data":
                for file in state.data() { members.append(LiveMember(path: Array("data/\(file.name)".utf8), entry: file)) }
            case "media":
                guard let view = state.mediaView else { continue }
                try append([entry.name], view, OpenMediaFiles(), to: &members)
            default: continue
            }
        }
        return members
    }

    private func append(
        _ folder: [FileName], _ view: LiveMediaView, _ openFiles: OpenMediaFiles, to members: inout [LiveMember]
    ) throws(BackupError) {
        for item in try view.media.items(in: folder.dropFirst()) ?? [] {
            let path = folder + [item.name]
            let entry = view.entry(item, path)
            let joined = Array(path.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
            switch entry.kind {
            case .directory:
                members.append(LiveMember(path: joined, entry: entry))
                try append(path, view, openFiles, to: &members)
            case .symbolicLink: members.append(LiveMember(path: joined, entry: entry, linkTarget: item.target))
            case .file:
                let source = MediaFileSource(path.dropFirst(), item, in: view.media, openFiles)
                members.append(LiveMember(path: joined, entry: entry, source: source))
            }
        }
    }
}
