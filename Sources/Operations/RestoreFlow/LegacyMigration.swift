import AppData
import BackupCore
import Formats
import Glibc
import Restore
import SystemIO

/// Imports the files in which an app kept its data before it had a database, once. They are combined into an export, which is
/// then restored like any other: fully checked, with a safety backup, all or nothing. Existing records are kept.
public struct LegacyMigration {
    private let store: Store
    private let folder: String

    public init(store: Store, folder: String) {
        self.store = store
        self.folder = folder
    }

    /// When the migration was done; `nil` if it was not.
    public var doneAt: String? {
        guard let bytes = try? FileSystem.readFile(store.paths.migrationRecord, limitBytes: 1 << 10) else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    /// - Parameter isRehearsal: whether to only report what would happen.
    /// - Throws: `notSupported` for an app that never had such files; `alreadyExists` when it was done before; `notFound` when
    ///   none of the files exists; errors in the files. Nothing is changed then, and it can be retried.
    public func run(isRehearsal: Bool, progress: ProgressHandler?) throws(BackupError) -> RestoreReport {
        let definition = store.definition
        guard !definition.legacyFiles.isEmpty else {
            throw BackupError(
                .notSupported, "\(definition.title) has always had its data in a database: there is nothing to migrate")
        }
        if let doneAt {
            throw BackupError(
                .alreadyExists, "the old files were migrated at \(doneAt) already; they are migrated once", path: folder,
                remedy: "Nothing was changed. What has come since can be restored from an export.")
        }
        let strategy: ImportStrategy = definition.strategies.contains(.skip) ? .skip : definition.defaultStrategy
        let report = try store.withWorkFolder { (work) throws(BackupError) in
            let path = "\(work)/legacy.json"
            try write(to: path)
            // The switches of this device are part of what is migrated here.
            let runner = RestoreRunner(store: store, restoresSettings: true)
            let name = FileSystem.lastComponent(FileSystem.absolutePath(folder))
            let source = try ImportSource(file: path, name: name)
            return isRehearsal
                ? try runner.preview(source, strategy: strategy)
                : try runner.run(source, strategy: strategy, progress: progress)
        }
        if !isRehearsal {
            let now = ISO8601.format(SystemClock.now().wholeSeconds)
            try FileSystem.writeFileAtomically(store.paths.migrationRecord, Array("\(now)\n".utf8))
        }
        return report
    }

    /// Writes the files as one export.
    private func write(to path: String) throws(BackupError) {
        let definition = store.definition
        let output = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
        func write(_ text: String) throws(BackupError) { try write(Array(text.utf8)) }
        func write(_ bytes: [UInt8]) throws(BackupError) {
            var outcome: Result<Void, BackupError> = .success(())
            bytes.withUnsafeBytes { buffer in
                outcome = Result { () throws(BackupError) in try output.writeAll(buffer) }
            }
            try outcome.get()
        }
        var isFirst = true
        func begin(_ name: String) throws(BackupError) {
            try write(isFirst ? "{" : ",")
            isFirst = false
            try write(OrderedJSON.text(name).compactText)
            try write(":")
        }
        var foundCount = 0
        for member in definition.envelope {
            switch member {
            case .metadata:
                try begin(definition.metadata.name)
                try write(metadata().compactText)
            case .metadataField(let index):
                guard let value = metadataValue(definition.metadata.fields[index]) else { continue }
                try begin(definition.metadata.fields[index].name)
                try write(value.compactText)
            case .settings:
                guard let name = definition.settings?.name, let file = file(of: name) else { continue }
                try begin(name)
                try copy(file, write)
                foundCount += 1
            case .collection(let index):
                let collection = definition.collections[index]
                if let file = file(of: collection.name) {
                    try begin(collection.name)
                    try copy(file, write)
                    foundCount += 1
                } else if collection.isRequired {
                    try begin(collection.name)
                    try write("[]")
                }
            }
        }
        try write("}\n")
        guard foundCount > 0 else {
            throw BackupError(
                .notFound, "none of the app's old files is here", path: folder,
                remedy: "It would be one of: \(definition.legacyFiles.map(\.name).joined(separator: ", ")).")
        }
    }

    private func file(of member: String) -> String? {
        store.definition.legacyFiles.first { $0.member == member }.map { "\(folder)/\($0.name)" }
            // A file that cannot be examined is reported when it is read.
            .flatMap { (try? FileSystem.exists($0)) == false ? nil : $0 }
    }

    private func metadata() -> OrderedJSON {
        .object(store.definition.metadata.fields.compactMap { field in metadataValue(field).map { .init(field.name, $0) } })
    }

    private func metadataValue(_ field: FieldDefinition) -> OrderedJSON? {
        switch field.source {
        case .schemaVersion: store.definition.schemaVersion.json
        case .constant, .stored: field.defaultValue?.json
        case .creationTime:
            field.type == .epochMilliseconds
                ? EpochMilliseconds.value(of: SystemClock.now())?.json : SystemClock.now().wholeSeconds.json
        }
    }

    /// Copies a file that must be one JSON value. Errors in it carry the file's own name.
    private func copy(_ path: String, _ write: ([UInt8]) throws(BackupError) -> Void) throws(BackupError) {
        let file = try SharedFile(path: path)
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(file)
            while try tokenizer.next() != .end {}
        } catch let error where error.code == .invalidContent {
            throw error.with(path: path)
        }
        var offset: UInt64 = 0
        while offset < file.size {
            var bytes = try file.bytes(at: offset, upTo: 1 << 20)
            guard !bytes.isEmpty else { break }
            offset += UInt64(bytes.count)
            // A byte order mark is allowed only at the beginning of a file.
            if offset == UInt64(bytes.count), bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
            try write(bytes)
        }
    }
}
