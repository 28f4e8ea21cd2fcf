import BackupCore

/// Keys of new records.
extension MergeIndex {
    /// Gives each new record its key: its own if it is free, otherwise one that neither the database nor the file has.
    func chooseKeys(_ connection: OpaquePointer?, path: String) throws(BackupError) {
        if collection.keyField.type != .integer {
            try chooseTexts(connection, path: path)
        } else {
            try scratch.execute(
                """
                UPDATE \(file) AS f SET target = wanted
                WHERE NOT isFound AND NOT EXISTS (SELECT 1 FROM \(existing) AS e WHERE e.key = f.wanted)
                """)
            try chooseNumbers(path: path)
        }
        try finish()
    }

    private func chooseNumbers(path: String) throws(BackupError) {
        guard try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE target IS NULL)") == 1 else { return }
        try requireOwnKey(path)
        var largest: Int64 = 0
        for table in [file, existing] {
            // Numbers precede everything else in the key order.
            let statement = try scratch.statement("SELECT key FROM \(table) WHERE key < '' ORDER BY key DESC LIMIT 1")
            if try statement.step() { largest = max(largest, statement.integer(0)) }
        }
        let choice = try scratch.statement("UPDATE \(file) SET target = ?2 WHERE key = ?1")
        try forEachNew("NULL", while: "target IS NULL") { (row) throws(BackupError) in
            guard largest < Int64.max else {
                throw BackupError(
                    .notSupported, "Import failed: there are no numbers left for new \(collection.plural)", path: path,
                    remedy: "The largest key there is, \(Int64.max), is taken. Give that record another one in the app.")
            }
            largest += 1
            try RecordInserter.bind(row, 0, to: 1, of: choice)
            choice.bind(2, integer: largest)
            try choice.run()
        }
    }

    /// The table decides whether a text is free: it may treat texts as equal that differ in their bytes.
    private func chooseTexts(_ connection: OpaquePointer?, path: String) throws(BackupError) {
        let column = quotedIdentifier(collection.keyField.column)
        let table = quotedIdentifier(collection.table)
        let present = try DatabaseStatement(connection, "SELECT 1 FROM \(table) WHERE \(column) = ?1", path: path)
        let planned = try scratch.statement("SELECT 1 FROM \(file) WHERE key = ?1 OR target = ?1")
        let choice = try scratch.statement("UPDATE \(file) SET target = ?2 WHERE key = ?1")
        func isThere(_ text: [UInt8], _ statement: DatabaseStatement) throws(BackupError) -> Bool {
            let parameter = RecordBuffer(fieldCount: 1)
            parameter.set(0, .text(text))
            try statement.bind(1, text: parameter.bytes(0))
            defer { statement.reset() }
            return try withExtendedLifetime(parameter) { () throws(BackupError) in try statement.step() }
        }
        func choose(_ text: [UInt8], for row: RecordBuffer) throws(BackupError) {
            let parameter = RecordBuffer(fieldCount: 1)
            parameter.set(0, .text(text))
            try RecordInserter.bind(row, 0, to: 1, of: choice)
            try choice.bind(2, text: parameter.bytes(0))
            try withExtendedLifetime(parameter) { () throws(BackupError) in try choice.run() }
        }
        try forEachNew("wanted", while: "NOT isFound") { (row) throws(BackupError) in
            let own = Array(row.bytes(1))
            let isTaken = try isThere(own, present)
            if !isTaken { try choose(own, for: row) }
        }
        guard try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE target IS NULL)") == 1 else { return }
        try requireOwnKey(path)
        try scratch.execute("CREATE INDEX IF NOT EXISTS target_\(number) ON \(file) (target)")
        try forEachNew("NULL", while: "target IS NULL") { (row) throws(BackupError) in
            let own = Array(row.bytes(0))
            for attempt in 2...FreshKey.attemptLimit {
                let text = FreshKey.text(instead: own, attempt: attempt)
                let isTaken = try isThere(text, present)
                let isPlanned = try isThere(text, planned)
                if !isTaken, !isPlanned { return try choose(text, for: row) }
            }
            throw BackupError(
                .notSupported, "Import failed: no new key was found for the \(collection.singular) \(row.value(0).messageText)",
                path: path)
        }
    }

    /// A key that refers to another record cannot be changed.
    private func requireOwnKey(_ path: String) throws(BackupError) {
        guard keyReference != nil else { return }
        throw BackupError(
            .invalidContent,
            "Import failed: a \(collection.singular) has a key that another one has, and which refers to another record",
            path: path,
            remedy: "Name that key alone as the collection's identity in the app's definition.")
    }
}
