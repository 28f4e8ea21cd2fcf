import BackupCore
import ObjectStorage
import SystemIO

/// The logs of all devices in a remote. Objects are made and read; none is ever replaced or removed.
struct DeviceLog {
    private static let groupLimitBytes = 1 << 16

    let storage: any ObjectStorage
    let protection: LogProtection

    // MARK: The group

    /// The group at this place; made if there is none.
    /// - Parameter known: the group that this device belongs to.
    /// - Throws: `notFound` when the group of this device is gone; `conflict` when another one is there; `invalidContent` for
    ///   that of another app; errors of the storage.
    func group(for app: String, known: String?) throws(BackupError) -> DeviceGroup {
        if let found = try readGroup() { return try check(found, app, known) }
        guard known == nil else {
            throw BackupError(
                .notFound, "the changes of the devices are no longer there", path: storage.location,
                remedy: """
                    Connect the right disk, or correct the remote's url. If it was emptied on purpose, remove the folder device-sync in \
                    each device's store.
                    """)
        }
        let new = try DeviceGroup.new(for: app)
        do throws(BackupError) {
            let bytes = try protection.seal(new.encoded, DeviceLogName.group.text)
            _ = try storage.create(DeviceLogName.group, ObjectDraft(bytes))
        } catch {
            // Another device was faster.
            guard error.code == .alreadyExists else { throw error }
        }
        // Read again: without `conditionalCreate`, another one may have replaced it.
        guard let found = try readGroup() else {
            throw BackupError(.inputOutput, "an object that was stored is not there", path: storage.location)
        }
        return try check(found, app, nil)
    }

    private func readGroup() throws(BackupError) -> DeviceGroup? {
        guard let (bytes, _) = try storage.contents(of: DeviceLogName.group, limitBytes: Self.groupLimitBytes) else {
            return nil
        }
        do throws(BackupError) {
            return try DeviceGroup(decoding: open(bytes, DeviceLogName.group))
        } catch {
            throw error.at("\(storage.location)/\(DeviceLogName.group)")
        }
    }

    private func check(_ found: DeviceGroup, _ app: String, _ known: String?) throws(BackupError) -> DeviceGroup {
        guard found.app == app else {
            throw BackupError(
                .invalidContent, "the devices at this place have another app: \(MessageText.shortened(found.app))",
                path: storage.location, remedy: "Use one remote, or one prefix of it, for each app.")
        }
        guard known == nil || known == found.id else {
            throw BackupError(
                .conflict, "other devices use this place now", path: storage.location,
                remedy: "Correct the remote's url. To join them, remove the folder device-sync in this store.")
        }
        return found
    }

    // MARK: Batches

    /// What became of an object that was to be stored.
    enum Storing { case stored, takenByOther }

    /// Stores a batch.
    /// - Returns: `takenByOther` when there is another batch under its name.
    func store(_ name: DeviceLogName, _ bytes: [UInt8]) throws(BackupError) -> Storing {
        if !storage.capabilities.contains(.conditionalCreate), let isOurs = try holds(name, bytes) {
            return isOurs ? .stored : .takenByOther
        }
        do throws(BackupError) {
            _ = try storage.create(name.object, ObjectDraft(bytes))
            return .stored
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
        // An earlier attempt whose answer was lost, or another device with the same ID: a copy of this one.
        return try holds(name, bytes) == true ? .stored : .takenByOther
    }

    /// Whether an object is exactly this; `nil` if there is none.
    private func holds(_ name: DeviceLogName, _ bytes: [UInt8]) throws(BackupError) -> Bool? {
        do throws(BackupError) {
            guard let found = try storage.contents(of: name.object, limitBytes: bytes.count) else { return nil }
            return found.bytes == bytes
        } catch {
            guard error.code == .tooLarge else { throw error }
            return false
        }
    }

    /// The names of batches after what is known of each device, those of new devices too. It needs a request for each thousand
    /// new batches, and at most two for each device, however many batches are known.
    /// - Parameter known: the devices with their last known batches.
    func newBatches(after known: SeenBatches) throws(BackupError) -> [DeviceLogName] {
        var found: [DeviceLogName] = []
        var last: ObjectName?
        while true {
            let page = try storage.list(prefix: DeviceLogName.prefix, after: last)
            for object in page.objects {
                if let last, object.name <= last { throw disorder(object.name) }
                last = object.name
                guard let name = DeviceLogName(object.name), name.sequence > known[name.device] ?? 0 else { continue }
                found.append(name)
            }
            guard page.hasMore else { return found }
            guard let end = page.objects.last?.name else {
                throw BackupError(.inputOutput, "the listing says that there is more, but has no names", path: storage.location)
            }
            // Past all that is known of the device at which the page ended.
            if let name = DeviceLogName(end), let position = known[name.device], position > name.sequence {
                last = DeviceLogName(device: name.device, sequence: position).object
            }
        }
    }

    /// The new batches of devices that are known: one request for each of them.
    func newBatches(ofKnown known: SeenBatches) throws(BackupError) -> [DeviceLogName] {
        var found: [DeviceLogName] = []
        for (device, position) in known.sorted(by: { $0.key < $1.key }) {
            var last = position > 0 ? DeviceLogName(device: device, sequence: position).object : nil
            while true {
                let page = try storage.list(prefix: DeviceLogName.prefix(of: device), after: last)
                for object in page.objects {
                    if let last, object.name <= last { throw disorder(object.name) }
                    last = object.name
                    if let name = DeviceLogName(object.name), name.sequence > position { found.append(name) }
                }
                guard page.hasMore, !page.objects.isEmpty else { break }
            }
        }
        return found
    }

    private func disorder(_ name: ObjectName) -> BackupError {
        BackupError(.inputOutput, "the listing is not in order at “\(name)”", path: storage.location)
    }

    /// Reads a batch.
    /// - Throws: `damagedContent`, `unsupportedVersion`, `notFound`; errors of the storage.
    func read(_ name: DeviceLogName) throws(BackupError) -> ChangeBatch {
        let path = "\(storage.location)/\(name.object)"
        guard let (bytes, _) = try storage.contents(of: name.object, limitBytes: ChangeBatch.limitBytes) else {
            throw BackupError(.notFound, "changes of the device \(name.device.shortText) are missing", path: path)
        }
        do throws(BackupError) {
            let batch = try ChangeBatch(decoding: open(bytes, name.object))
            guard batch.device == name.device, batch.sequence == name.sequence else {
                throw BackupError(.damagedContent, "these are other changes than its name says")
            }
            return batch
        } catch {
            throw error.at(path)
        }
    }

    /// The bytes of a batch as they are stored.
    func sealed(_ batch: ChangeBatch) throws(BackupError) -> [UInt8] {
        try protection.seal(batch.encoded, DeviceLogName(device: batch.device, sequence: batch.sequence).object.text)
    }

    private func open(_ bytes: [UInt8], _ name: ObjectName) throws(BackupError) -> [UInt8] {
        do throws(BackupError) {
            return try protection.open(bytes, name.text)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            throw error.with(
                .damagedContent, "it does not open with this repository's key",
                remedy: "Devices of one app need copies of one encrypted repository, or plain ones.")
        }
    }
}
