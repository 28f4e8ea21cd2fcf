extension AppDefinition {
    /// As if there were only the collections that are in tables: the part that is written to the database.
    var tablesOnly: AppDefinition {
        guard tellsOfMedia else { return self }
        let numbers = tableNumbers
        let tables = collections.filter { $0.source == .table }.map { $0.renumbered(numbers) }
        let envelope = envelope.compactMap { member -> EnvelopeMember? in
            guard case .collection(let index) = member else { return member }
            return numbers[index].map { .collection($0) }
        }
        return replacing(collections: tables, envelope: envelope, otherFormats: otherFormats.map(\.tablesOnly))
    }

    /// The index of each collection among those that are in tables; `nil` for the others.
    var tableNumbers: [Int?] {
        var next = 0
        return collections.map { collection in
            guard collection.source == .table else { return nil }
            defer { next += 1 }
            return next
        }
    }
}

extension CollectionDefinition {
    fileprivate func renumbered(_ numbers: [Int?]) -> CollectionDefinition {
        replacing(
            fields: fields.map {
                $0.replacing(
                    reference: $0.reference.flatMap { reference in
                        numbers[reference.collection].map {
                            FieldReference(collection: $0, field: reference.field, mayDangle: reference.mayDangle)
                        }
                    })
            })
    }
}
