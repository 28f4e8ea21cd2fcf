import BackupCore

extension AppDefinition {
    /// The wire format that the data of an open database came in, and goes out in. Of a database nobody has described, with the tables that it
    /// has.
    func format(ofDatabase connection: OpaquePointer?, path: String) throws(BackupError) -> AppDefinition {
        if coversWholeDatabase {
            return covering(try DatabaseIntrospection(connection: connection, path: path).collections())
        }
        guard !otherFormats.isEmpty else { return self }
        let reader = DatabaseRecordReader(connection: connection, definition: self, path: path)
        return try reader.storedVersion().map(format(ofVersion:)) ?? self
    }
}
