import BackupCore

/// Made-up data of SmilePile: four piles, one of which comes with the app, their photos, and one photo that is part of the app.
struct SamplePiles: RecordSource {
    private static let piles: [(name: String, shown: String, colour: String, isDefault: Bool)] = [
        ("favourites", "Favourites", "#F2B134", true), ("family", "Семья", "#4F9D69", false),
        ("holidays", "Été à la mer", "#3B7EA1", false), ("animals", "Animals", "#A1543B", false),
    ]
    private static let createdAt: Int64 = 1_736_503_200_000  // 2025-01-10T10:00:00Z

    let definition: AppDefinition
    let photos = SamplePhoto.piles

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        let records = SampleRecords(definition: definition, visitor: visitor)
        try records.metadata([
            "version": .integer(Int64(definition.schemaVersion)), "exportDate": .integer(1_768_069_800_000),
            "appVersion": .text("1.4.0"), "format": .text("ZIP"),
        ])
        try records.collection("categories", categories())
        try records.collection("photos", files() + [welcome()])
        try records.settings(["isDarkMode": .boolean(true)].merging(security()) { first, _ in first })
    }

    private func security() -> [String: FieldValue] {
        let names = ["hasPIN", "hasPattern", "kidSafeModeEnabled", "deleteProtectionEnabled"]
        return Dictionary(uniqueKeysWithValues: names.map { ("securitySettings.\($0)", .boolean(false)) })
    }

    private func categories() -> [[String: FieldValue]] {
        Self.piles.enumerated().map { index, pile in
            [
                "id": .integer(Int64(index + 1)), "name": .text(pile.name), "displayName": .text(pile.shown),
                "position": .integer(Int64(index)), "colorHex": .text(pile.colour), "isDefault": .boolean(pile.isDefault),
                "createdAt": .integer(Self.createdAt),
            ]
        }
    }

    private func files() -> [[String: FieldValue]] {
        photos.enumerated().map { index, photo in
            let folder = definition.media?.folder ?? "photos"
            return [
                "id": .integer(Int64(index + 1)), "path": .text("\(folder)/\(photo.path)"),
                "categoryId": .integer(Int64(index % Self.piles.count + 1)), "name": .text(photo.path),
                "isFromAssets": .boolean(false), "createdAt": .integer(photo.takenAt.seconds * 1_000),
                "fileSize": .integer(Int64(photo.content.count)), "width": .integer(Int64(SampleImage.width)),
                "height": .integer(Int64(SampleImage.height)),
            ]
        }
    }

    private func welcome() -> [String: FieldValue] {
        [
            "id": .integer(Int64(photos.count + 1)), "path": .text("assets/welcome.png"), "categoryId": .integer(1),
            "name": .text("welcome.png"), "isFromAssets": .boolean(true), "createdAt": .integer(Self.createdAt),
            "fileSize": .integer(0), "width": .integer(0), "height": .integer(0),
        ]
    }
}
