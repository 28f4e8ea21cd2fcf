import BackupCore
import Synchronization
import SystemIO

/// Copies contents chunk by chunk, in the form in which they are stored: nothing is compressed again, and archives that are laid
/// out over them keep their sizes. Where the keys differ, each chunk gets its name in the target, and the lists that name chunks
/// are written again, with the same elements.
///
/// Every chunk is verified before it is stored. Several threads work for it; one calls it.
final class ChunkCopier: Sendable {
    private let source: Repository
    private let target: Repository
    private let writer: BackupWriter
    /// `nil` where chunks have the same names in both.
    private let known: CopiedContents?
    private let reading: SourceReading
    private let progress: CopyProgress
    /// Of the copy: other threads work for it as well.
    private let cancellation = Cancellation.current

    init(
        from source: Repository, to target: Repository, _ writer: BackupWriter, _ known: CopiedContents?,
        _ reading: SourceReading, _ progress: CopyProgress
    ) {
        self.source = source
        self.target = target
        self.writer = writer
        self.known = known
        self.reading = reading
        self.progress = progress
    }

    /// - Returns: the contents in the target, in the same order.
    /// - Throws: errors of the source, noted in `reading`; errors of the target.
    func copy(_ contents: [FileContent]) throws(BackupError) -> [FileContent] { try copy(contents, depth: 0) }

    private func copy(_ contents: [FileContent], depth: Int) throws(BackupError) -> [FileContent] {
        var chunks: [Wanted] = []
        for content in contents {
            for case .chunk(let id, let length) in content.elements { chunks.append(Wanted(id: id, length: length)) }
        }
        var copies = try copy(chunks)[...]
        var results: [FileContent] = []
        results.reserveCapacity(contents.count)
        for content in contents {
            var elements: [FileContent.Element] = []
            elements.reserveCapacity(content.elements.count)
            for element in content.elements {
                switch element {
                case .literal: elements.append(element)
                case .chunk(_, let length):
                    if let copy = copies.popFirst() { elements.append(.chunk(copy, plainLength: length)) }
                case .list(let id, _):
                    guard depth < ContentList.depthLimit else {
                        throw reading.note(
                            BackupError(.repositoryDamaged, "content lists are nested too deep: \(id)", path: source.location))
                    }
                    elements.append(try copyList(element, depth: depth + 1))
                }
            }
            results.append(FileContent(elements: elements))
        }
        return results
    }

    private func copyList(_ element: FileContent.Element, depth: Int) throws(BackupError) -> FileContent.Element {
        let list = try reading.run { () throws(BackupError) in try source.resolver.open(element) }
        let copy = try copy([list], depth: depth)[0]
        return .list(try writer.store.storeList(ContentList.encode(copy)), plainLength: copy.size)
    }

    /// A chunk that a content names.
    private struct Wanted: Hashable {
        let id: ChunkID
        let length: UInt32
    }

    /// - Returns: the names in the target.
    private func copy(_ chunks: [Wanted]) throws(BackupError) -> [ChunkID] {
        guard !chunks.isEmpty else { return [] }
        try Cancellation.check()
        var unique: [Wanted] = []
        var places: [Wanted: Int] = [:]
        for chunk in chunks where places[chunk] == nil {
            places[chunk] = unique.count
            unique.append(chunk)
        }
        var copies = try names(of: unique.map(\.id))
        var states = try writer.store.presence(of: copies.compactMap(\.self))[...]
        var missing: [Int] = []
        var unproven: [Int] = []
        for index in unique.indices {
            switch copies[index] == nil ? .missing : states.popFirst() ?? .missing {
            case .held(let length) where length == unique[index].length: continue
            case .held, .missing: missing.append(index)
            case .beingStored: unproven.append(index)
            }
        }
        try requireLengths(unproven.map { unique[$0] })
        let located = try requireLengths(missing.map { unique[$0] })
        if !missing.isEmpty {
            let found = Mutex(copies)
            let group = WorkGroup(writer.workers)
            for (chunk, index) in zip(located, missing) {
                group.submit { [self] () throws(BackupError) in
                    try cancellation?.check()
                    let copy = try transfer(chunk)
                    found.withLock { $0[index] = copy }
                    progress.add(bytes: UInt64(chunk.plainLength))
                }
            }
            try group.wait()
            copies = found.withLock { $0 }
            try known?.note(missing.compactMap { index in copies[index].map { (unique[index].id, $0) } })
        }
        var copiedBytes: UInt64 = 0
        for chunk in chunks { copiedBytes += UInt64(chunk.length) }
        let transferredBytes = missing.reduce(UInt64(0)) { $0 + UInt64(unique[$1].length) }
        progress.add(bytes: copiedBytes - transferredBytes)
        return try chunks.map { (chunk) throws(BackupError) in
            guard let place = places[chunk], let copy = copies[place] else {
                throw BackupError(.repositoryDamaged, "chunk \(chunk.id) was not copied", path: target.location)
            }
            return copy
        }
    }

    /// The names of chunks in the target, as far as they are known.
    private func names(of ids: [ChunkID]) throws(BackupError) -> [ChunkID?] {
        guard let known else { return ids }
        return try known.copies(of: ids)
    }

    /// - Returns: where the source has the chunks.
    @discardableResult
    private func requireLengths(_ chunks: [Wanted]) throws(BackupError) -> [StoredChunk] {
        guard !chunks.isEmpty else { return [] }
        return try reading.run { () throws(BackupError) in
            let located = try source.catalog.locate(chunks.map(\.id))
            for (place, chunk) in zip(located, chunks) where place.plainLength != chunk.length {
                throw source.chunkReader.damage(place, "it does not have the length that it should have")
            }
            return located
        }
    }

    /// Stores one chunk in the target.
    /// - Returns: its name there.
    private func transfer(_ chunk: StoredChunk) throws(BackupError) -> ChunkID {
        let bytes = try reading.run { () throws(BackupError) in try source.chunkReader.verified(chunk) }
        let id = known == nil ? chunk.id : target.protection.chunkID(of: bytes.plain)
        var base: ChunkID?
        if let own = chunk.base, bytes.stored != nil { base = try copyBase(own) }
        if let stored = bytes.stored, chunk.base == nil || base != nil {
            let entry = PackEntry(
                id: id, codec: chunk.codec, storedLength: chunk.storedLength, plainLength: chunk.plainLength,
                plainCRC32: chunk.plainCRC32, storedCRC32: chunk.storedCRC32, base: base)
            try stored.withUnsafeBytesThrowing { (stored) throws(BackupError) in try writer.store.adopt(entry, stored) }
        } else {
            try bytes.plain.withUnsafeBytesThrowing { (plain) throws(BackupError) in
                try writer.store.store(id, plain, kind: .data, compression: .whenSmaller)
            }
        }
        return id
    }

    /// Stores the base of a chunk in the target.
    /// - Returns: its name there; `nil` if it cannot be a base there, so that the chunk must be stored whole.
    private func copyBase(_ own: ChunkID) throws(BackupError) -> ChunkID? {
        if let copy = try names(of: [own])[0], try writer.store.hasWhole(copy) { return copy }
        let place = try reading.run { () throws(BackupError) in try source.catalog.locate([own]) }.first
        guard let place, place.base == nil else { return nil }
        let copy = try transfer(place)
        try known?.note([(own, copy)])
        return try writer.store.hasWhole(copy) ? copy : nil
    }
}
