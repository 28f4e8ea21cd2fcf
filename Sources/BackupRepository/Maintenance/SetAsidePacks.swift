import BackupCore
import SystemIO

/// The chunks of packs that a repair set aside in `damaged/`. Those that could not be rescued are missing, and may come back with an intact copy of the pack.
/// For one thread at a time; the folder is read once, at the first query.
final class SetAsidePacks {
    private let repository: Repository
    private lazy var chunks = read()

    init(_ repository: Repository) { self.repository = repository }

    /// The bases of a chunk in these packs; `nil` when none of them has the chunk.
    func bases(of chunk: ChunkID) -> [ChunkID]? { chunks[chunk] }

    /// An unreadable index is skipped: its chunks are unknown.
    private func read() -> [ChunkID: [ChunkID]] {
        var chunks: [ChunkID: [ChunkID]] = [:]
        let salvage = PackSalvage(repository: repository)
        let folder = repository.layout.damaged
        for name in (try? DirectoryReader(path: folder).names()) ?? [] {
            guard
                let pack = RepositoryLayout.digest(in: name, extension: RepositoryLayout.packExtension).map(PackID.init),
                let index = try? salvage.provenIndex(of: pack, in: "\(folder)/\(name)")
            else { continue }
            for chunk in index.entries { chunks[chunk.id, default: []] += chunk.base.map { [$0] } ?? [] }
        }
        return chunks
    }
}
