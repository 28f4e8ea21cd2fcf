import BackupCore
import SystemIO

/// Writes the lists of checksums that a job was asked for, into each destination that has all copies.
struct ManifestWriter {
    /// What is known of the source when it has been read.
    struct SourceState {
        /// Files and links.
        let fileCount: UInt64
        /// Whether all of it could be read.
        let isWhole: Bool
        /// Files that are in a list that came with it, and not in the source.
        let missingCount: UInt64
    }

    let folder: JobFolder
    let context: CopyContext
    let destinations: [Destination]
    /// Of this program.
    let version: String

    private var record: JobRecord { folder.record }

    /// Problems are added to those of the job.
    func run(_ state: SourceState) {
        guard !record.options.manifests.isEmpty else { return }
        do throws(BackupError) {
            let all = try CopiedRows.load(folder)
            for (index, destination) in destinations.enumerated() where destination.error == nil {
                guard let rows = all[destination.place.path] else { continue }
                write(index, destination, rows, state)
            }
        } catch {
            context.problems.add(error)
        }
    }

    private func write(_ index: Int, _ destination: Destination, _ rows: CopiedRows, _ state: SourceState) {
        let isComplete = rows.failureCount == 0 && UInt64(rows.count) == state.fileCount && state.isWhole
        let history = MHLGeneration(
            job: folder, index: index, destination: destination.root, source: context.source, rows: rows,
            problems: context.problems, version: version)
        var own: Set<FileName> = []
        for kind in ManifestKind.allCases where record.options.manifests.contains(kind) {
            do throws(BackupError) {
                try destination.requirePresent()
                // A list of wrong bytes would make them look right.
                let isProof = rows.mismatchCount == 0 && state.missingCount == 0
                switch kind {
                case _ where !isComplete:
                    warn(destination, kind, "not everything was copied")
                    if kind == .ascmhl { try history.carryHistory() }
                case .sha256sums where isProof:
                    let name = try SumsWriter.write(destination.root, rows, token: record.token)
                    if name != SumsWriter.name {
                        context.problems.warn(
                            "\(destination.place.path): the list of checksums is \(name), since another file has the name \(SumsWriter.name)"
                        )
                    }
                    own.insert(name)
                case .bagit where isProof: try BagWriter.write(destination.root, rows, record, version: version)
                case .ascmhl: try history.write(own: own)
                case .sha256sums, .bagit: warn(destination, kind, "the source is not what its own lists say")
                }
            } catch {
                context.problems.add(error)
            }
        }
    }

    private func warn(_ destination: Destination, _ kind: ManifestKind, _ reason: Message) {
        context.problems.warn("\(destination.place.path): no list of checksums (\(kind.rawValue)) was written, since \(reason)")
    }
}
