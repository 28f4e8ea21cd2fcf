import BackupCore

extension AppDefinition {
    /// The wire format in which an open database's data came in and goes out. For a database without a definition, with the tables that it has.
    func format(ofDatabase connection: OpaquePointer?, path: String) throws(BackupError) -> AppDefinition {
        if coversWholeDatabase {
            return covering(try DatabaseIntrospection(connection: connection, path: path).collections())
        }
        guard !otherFormats.isEmpty else { return self }
        let reader = DatabaseRecordReader(connection: connection, definition: self, path: path)
        return try reader.storedVersion().map(format(ofVersion:)) ?? self
    }
}
