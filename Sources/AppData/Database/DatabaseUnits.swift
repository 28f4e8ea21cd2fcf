/// Groups the files of a folder into databases and the files that SQLite keeps beside them.
public struct DatabaseUnits {
    /// For each database, the files beside it.
    public private(set) var companions: [[UInt8]: [[UInt8]]] = [:]
    private var databases: [[UInt8]: [UInt8]] = [:]

    /// - Parameter names: names in a folder, or paths.
    public init(_ names: Set<[UInt8]>) {
        for name in names {
            // A log belongs to only one file, even if its own name has a log.
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database),
                DatabaseLogs.database(ofFile: database).map(names.contains) != true
            else { continue }
            databases[name] = database
            companions[database, default: []].append(name)
        }
    }

    /// - Parameters:
    ///   - names: names of a folder's entries, of any kind.
    ///   - isFile: called for candidates. A folder or a link neither has a log nor is one.
    public init(_ names: Set<[UInt8]>, isFile: ([UInt8]) -> Bool) {
        var files: Set<[UInt8]> = []
        for name in names {
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database) else { continue }
            for file in [name, database] where isFile(file) { files.insert(file) }
        }
        self.init(files)
    }

    /// The database that a log belongs to; `nil` for other files.
    public func database(of name: [UInt8]) -> [UInt8]? { databases[name] }
}
