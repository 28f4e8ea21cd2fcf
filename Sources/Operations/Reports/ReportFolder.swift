import BackupCore
import SystemIO

/// `reports/` of a store: a file for each of the last operations. A report that cannot be written does not make its operation
/// fail, and one that a power cut took is gone: the history and the log have the operation, too.
public struct ReportFolder: Sendable {
    /// The forms in which the mount shows a report; the raw value is the extension of the name.
    public enum Form: String, CaseIterable, Sendable {
        case html, json, txt
    }

    /// The most reports that are kept.
    public static let countLimit = 300
    /// Older ones are removed with the next report, …
    public static let ageLimitSeconds: Int64 = 400 * 86_400
    /// … but not the newest, whatever a clock says.
    public static let leastCount = 50
    /// No report is longer.
    private static let sizeLimitBytes: UInt64 = 4 << 20
    /// Clocks of a store's processes differ by less.
    private static let clockSeconds: Int64 = 86_400

    private static let ending = ".json"
    private let path: String

    init(_ paths: StorePaths) { path = paths.operationReports }

    /// - Parameter path: of the store.
    public init(storeAt path: String) { self.init(StorePaths(root: path)) }

    /// The name of the report of an operation, without extension, if it has one and no other began within the same second.
    static func name(of record: OperationRecord) -> String {
        "\(SystemClock.localStamp(record.startedAt))_\(record.operation.rawValue)"
    }

    /// Writes a report, and removes the oldest ones.
    func add(_ report: OperationReport) throws(BackupError) {
        try FileSystem.makeDirectories(path)
        let stem = Self.name(of: report.record)
        var name = stem
        var number = 2
        while try FileSystem.exists(file(name)) {
            name = "\(stem)_\(number)"
            number += 1
        }
        try FileSystem.writeForReaders(file(name), report.json)
        try removeOld()
    }

    private func file(_ name: String) -> String { "\(path)/\(name)\(Self.ending)" }

    private func removeOld() throws(BackupError) {
        let now = SystemClock.now().seconds
        // In the order in which they were written, which names do not have: a clock may have been set, and two can have one
        // second. Those from the future were written while the clock was wrong; they go first: nothing is known of their age.
        let reports = try names().map { name in
            let written = FileSystem.statusIfPresent(file(name))?.modificationTime ?? Timestamp(seconds: 0)
            return (name: name, written: written, isFuture: written.seconds > now + Self.clockSeconds)
        }.sorted { ($0.isFuture ? 0 : 1, $0.written, $0.name) < ($1.isFuture ? 0 : 1, $1.written, $1.name) }
        let surplus = reports.dropLast(Self.countLimit)
        let old = reports.dropFirst(surplus.count).dropLast(Self.leastCount).filter {
            !$0.isFuture && $0.written.seconds < now - Self.ageLimitSeconds
        }
        // Another process may remove them as well.
        for report in surplus + old { try FileSystem.removeFile(file(report.name)) }
    }

    /// The names of the reports without extension, oldest first.
    public func names() throws(BackupError) -> [String] {
        try FileSystem.names(in: path).compactMap { name in
            guard name.bytes.first != UInt8(ascii: "."), let text = String(validating: name.bytes, as: UTF8.self),
                text.hasSuffix(Self.ending)
            else { return nil }
            return String(text.dropLast(Self.ending.count))
        }
    }

    /// A report in a form, and when it was written.
    /// - Parameters:
    ///   - name: without extension.
    ///   - language: of the words around what the operation said.
    /// - Throws: `notFound`; `damagedContent` when it cannot be shown in this form.
    public func report(
        _ name: String, as form: Form, in language: Language
    ) throws(BackupError) -> (content: [UInt8], time: Timestamp) {
        let path = file(name)
        // Not through a link, which could lead anywhere.
        let descriptor = try DirectoryHandle(path: self.path, followsLink: false).openFile(FileName("\(name)\(Self.ending)"))
        let status = try descriptor.status()
        guard status.size <= Self.sizeLimitBytes else {
            throw BackupError(.damagedContent, "this is not a report of an operation", path: path)
        }
        let json = try descriptor.readExactly(at: 0, count: Int(status.size))
        let time = status.modificationTime
        switch form {
        case .json: return (json, time)
        case .txt: return (try OperationReport(json, path: path).plainText(in: language), time)
        case .html: return (ReportPage(try OperationReport(json, path: path), language).html, time)
        }
    }
}
