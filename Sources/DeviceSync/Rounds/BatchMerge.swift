import AppData
import BackupCore
import SystemIO

/// Merges one batch of another device into the app's database: of each record the latest change counts.
///
/// It can be interrupted at any point. What it is about to write is recorded first (`applying`), then the app's database commits,
/// then the state does. After a crash in between, `LocalChanges` finds out whether the app's database has committed, and the
/// batch is merged again.
struct BatchMerge {
    /// How it ended.
    enum Outcome: Equatable {
        case merged(conflictCount: Int)
        /// The app has changed a record of the batch since its changes were last looked for. Nothing was written.
        case overtaken
    }

    private struct Step {
        let collection: Int
        let key: FieldValue
        let keyBytes: [UInt8]
        let values: [FieldValue]?
        let wasThere: Bool
        let known: KnownRecord
    }

    let state: DeviceState
    let conflicts: any ConflictKeeper
    /// For tests: what is thrown at these points interrupts it there.
    let reached: (Point) throws(BackupError) -> Void

    /// Where it can be interrupted.
    enum Point {
        case conflictsKept, intentRecorded, rowsWritten, committed

        /// For tests of whole programs.
        func injectFault() throws(BackupError) {
            switch self {
            case .conflictsKept: try FaultInjection.reached("device-sync.conflicts-kept")
            case .intentRecorded: try FaultInjection.reached("device-sync.intent-recorded")
            case .rowsWritten: try FaultInjection.reached("device-sync.rows-written")
            case .committed: try FaultInjection.reached("device-sync.committed")
            }
        }
    }

    /// - Throws: `invalidContent` or `unsupportedVersion` for changes that this app's database cannot take; errors of the files.
    func merge(_ batch: ChangeBatch, into database: some SyncedDatabase) throws(BackupError) -> Outcome {
        var steps: [Step] = []
        let outcome = try database.write { (writing) throws(BackupError) in
            var losers: [RecordConflict] = []
            guard try plan(batch, writing, &steps, &losers) else { return Outcome.overtaken }
            var conflictCount = 0
            for loser in losers where try conflicts.keep(loser) { conflictCount += 1 }
            try reached(.conflictsKept)
            let names = writing.form.collections.map(\.name)
            try state.transaction { () throws(BackupError) in
                for step in steps { try state.setApplying(names[step.collection], step.keyBytes, step.known) }
                try state.noteSeen(batch.seen, by: batch.device, batch.sequence)
            }
            try reached(.intentRecorded)
            for step in steps { try write(step, writing) }
            try reached(.rowsWritten)
            return .merged(conflictCount: conflictCount)
        }
        guard outcome != .overtaken else { return outcome }
        try reached(.committed)
        try finish(batch, steps)
        return outcome
    }

    private func finish(_ batch: ChangeBatch, _ steps: [Step]) throws(BackupError) {
        try state.transaction { () throws(BackupError) in
            for (name, key, known) in try state.applying() { try state.set(name, key, known) }
            try state.clearApplying()
            try state.setPosition(of: batch.device, batch.sequence)
            if let last = batch.lastStamp {
                var clock = try state.clock
                clock.observe(last)
                try state.set(clock)
            }
            try state.set(.mergedChanges, try state.number(.mergedChanges) + UInt64(steps.count))
        }
    }

    // MARK: What wins

    /// - Returns: false when the app has changed one of the records meanwhile.
    private func plan(
        _ batch: ChangeBatch, _ reading: any RecordReading, _ steps: inout [Step], _ losers: inout [RecordConflict]
    ) throws(BackupError) -> Bool {
        // After an interruption, what it has written has to be told from what the app has.
        guard try state.applying().isEmpty else { return false }
        let form = reading.form
        let mapping = try BatchMapping(batch, form)
        for change in batch.changes {
            let collection = try mapping.collection(of: change)
            let name = form.collections[collection].name
            var writer = ByteWriter()
            writer.append(change.key)
            let key = writer.bytes
            let known = try state.record(name, key)
            let present = try reading.record(of: collection, key: change.key)
            let presentDigest = present.map { form.digest(of: $0, in: collection) }
            // A deletion that waits for the user is not one yet.
            let isHeld = known?.isHeld == true && present == nil
            guard presentDigest == known?.digest || isHeld else { return false }
            if let known, known.stamp == change.stamp { continue }
            let values = try mapping.values(of: change)
            if let values, let problem = reading.problem(with: values, in: collection) {
                throw BackupError(
                    .invalidContent,
                    "the device \(batch.device.shortText) has sent a record of \(name) that is not valid: \(problem)")
            }
            let digest = values.map { form.digest(of: $0, in: collection) }
            func conflict(_ values: [FieldValue], _ stamp: ChangeStamp, _ winner: ChangeStamp) {
                losers.append(
                    RecordConflict(
                        collection: name, key: change.key, fields: form.collections[collection].fields, values: values,
                        stamp: stamp, winner: winner))
            }
            if let known, known.stamp > change.stamp {
                let wasSeen = try state.had(
                    known.stamp.device, known.sequence, seen: change.stamp.device, batch.sequence)
                if let values, digest != known.digest, !wasSeen { conflict(values, change.stamp, known.stamp) }
                continue
            }
            if let known, let present, presentDigest != digest {
                let wasSeen =
                    known.stamp.device == batch.device || batch.seen[known.stamp.device] ?? 0 >= known.sequence
                if !wasSeen { conflict(present, known.stamp, change.stamp) }
            }
            steps.append(
                Step(
                    collection: collection, key: change.key, keyBytes: key, values: values, wasThere: present != nil,
                    known: KnownRecord(digest: digest, stamp: change.stamp, sequence: batch.sequence)))
        }
        return true
    }

    // MARK: Writing

    private func write(_ step: Step, _ writing: any RecordWriting) throws(BackupError) {
        if let values = step.values {
            try writing.put(values, in: step.collection)
        } else if step.wasThere {
            try writing.remove(key: step.key, from: step.collection)
        }
        let present = try writing.record(of: step.collection, key: step.key)
        guard present.map({ writing.form.digest(of: $0, in: step.collection) }) == step.known.digest else {
            throw BackupError(
                .invalidContent,
                """
                the app's database has changed the record \(step.key.messageText) of \
                \(writing.form.collections[step.collection].name) as it was written
                """,
                remedy: "A trigger or the type of a column may do that. Nothing was changed.")
        }
    }
}

/// Turns the records of a batch into those of this device, whose app may be of another version.
private struct BatchMapping {
    private let batch: ChangeBatch
    private let form: RecordForm
    /// For each collection of the batch its number here, and the numbers of its fields here.
    private let targets: [(collection: Int, fields: [Int?])?]

    init(_ batch: ChangeBatch, _ form: RecordForm) throws(BackupError) {
        guard batch.app == form.app else {
            throw BackupError(
                .invalidContent,
                "the device \(batch.device.shortText) has another app: \(MessageText.shortened(batch.app))")
        }
        guard batch.schemaVersion <= form.schemaVersion else {
            throw BackupError(
                .unsupportedVersion,
                """
                the device \(batch.device.shortText) has data of version \(batch.schemaVersion) of the app, and this one of version \
                \(form.schemaVersion)
                """,
                remedy: "Update the app here.")
        }
        self.batch = batch
        self.form = form
        targets = batch.collections.map { collection in
            guard let index = form.collection(named: collection.name) else { return nil }
            let own = form.collections[index].fields
            return (index, collection.fields.map { name in own.firstIndex { $0.utf8.elementsEqual(name.utf8) } })
        }
    }

    func collection(of change: Change) throws(BackupError) -> Int {
        guard let target = targets[change.collection] else {
            throw unknown(MessageText.shortened(batch.collections[change.collection].name))
        }
        return target.collection
    }

    /// - Returns: `nil` for a deletion.
    func values(of change: Change) throws(BackupError) -> [FieldValue]? {
        guard let target = targets[change.collection], let sent = change.values else { return nil }
        let description = form.collections[target.collection]
        var values = [FieldValue](repeating: .null, count: description.fields.count)
        for (index, value) in sent.enumerated() where value != .null {
            guard let field = target.fields[index] else {
                throw unknown(MessageText.shortened(batch.collections[change.collection].fields[index]))
            }
            values[field] = value
        }
        guard values[description.keyIndex] == change.key else {
            throw BackupError(.damagedContent, "a record of \(description.name) has another key than its change")
        }
        return values
    }

    private func unknown(_ name: Message) -> BackupError {
        BackupError(
            .unsupportedVersion, "the device \(batch.device.shortText) has sent \(name), which is not in the definition here",
            remedy: "Use the same definition of the app on all devices.")
    }

    private func unknown(_ name: String) -> BackupError { unknown(Message.verbatim(name)) }
}
