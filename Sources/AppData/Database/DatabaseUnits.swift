/// Which files of a folder belong together as a database and what SQLite keeps beside it.
public struct DatabaseUnits {
    /// Of each database, what lies beside it.
    public private(set) var companions: [[UInt8]: [[UInt8]]] = [:]
    private var databases: [[UInt8]: [UInt8]] = [:]

    /// - Parameter names: of a folder, or paths.
    public init(_ names: Set<[UInt8]>) {
        for name in names {
            // A log belongs to one file only, also where a log's name has a log.
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database),
                DatabaseLogs.database(ofFile: database).map(names.contains) != true
            else { continue }
            databases[name] = database
            companions[database, default: []].append(name)
        }
    }

    /// - Parameters:
    ///   - names: of a folder's entries, of any kind.
    ///   - isFile: asked of those that may belong together. A folder or a link has no log, and is none.
    public init(_ names: Set<[UInt8]>, isFile: ([UInt8]) -> Bool) {
        var files: Set<[UInt8]> = []
        for name in names {
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database) else { continue }
            for file in [name, database] where isFile(file) { files.insert(file) }
        }
        self.init(files)
    }

    /// The database that a log belongs to; `nil` for what is none.
    public func database(of name: [UInt8]) -> [UInt8]? { databases[name] }
}
