import BackupCore
import SystemIO

/// Passes sample records to a visitor.
struct SampleRecords {
    let definition: AppDefinition
    let visitor: any RecordVisitor

    func metadata(_ values: [String: FieldValue]) throws(BackupError) {
        try visitor.visit(metadata: Self.buffer(Self.ordered(values, definition.metadata.fields)))
    }

    func settings(_ values: [String: FieldValue]) throws(BackupError) {
        guard let settings = definition.settings else { return }
        try visitor.visit(settings: Self.buffer(Self.ordered(values, settings.fields)))
    }

    /// - Parameter records: by field name.
    func collection(_ name: String, _ records: [[String: FieldValue]]) throws(BackupError) {
        let fields = definition.collectionIndex(named: name).map { definition.collections[$0].fields } ?? []
        try collection(name, records.lazy.map { Self.ordered($0, fields) })
    }

    /// - Parameter records: in the definition's order.
    func collection(_ name: String, _ records: some Sequence<[FieldValue]>) throws(BackupError) {
        guard let index = definition.collectionIndex(named: name) else { return }
        try visitor.beginCollection(index)
        let buffer = RecordBuffer(fieldCount: definition.collections[index].fields.count)
        for record in records {
            buffer.set(Record(values: record))
            try visitor.visit(record: buffer, of: index)
        }
    }

    private static func ordered(_ values: [String: FieldValue], _ fields: [FieldDefinition]) -> [FieldValue] {
        fields.map { values[$0.name] ?? .null }
    }

    /// - Parameter values: in the definition's order.
    static func buffer(_ values: [FieldValue]) -> RecordBuffer {
        let buffer = RecordBuffer(fieldCount: values.count)
        buffer.set(Record(values: values))
        return buffer
    }
}

/// Made-up data of KeepTrack: four kinds of intakes, the intakes of the 90 days up to 2026-01-10, and two goals.
struct SampleIntakes: RecordSource {
    private static let dayCount = 90
    private static let lastDaySeconds: Int64 = 1_768_003_200  // 2026-01-10T00:00:00Z
    private static let seed: UInt64 = 20_260_110

    private struct Kind {
        let name: String
        let unit: String
        let amount: Double
        let frequency: String
        /// Minutes after midnight.
        let minutes: [Int64]
    }

    private static let kinds = [
        Kind(name: "Water", unit: "ml", amount: 250, frequency: "Several times a day", minutes: [450, 645, 780, 960, 1_170]),
        Kind(name: "Vitamin D", unit: "IU", amount: 1_000, frequency: "Daily", minutes: [480]),
        Kind(name: "Café au lait ☕", unit: "cups", amount: 1, frequency: "Daily", minutes: [465, 870]),
        Kind(name: "Прогулка", unit: "km", amount: 3.5, frequency: "Every other day", minutes: [1_080]),
    ]

    let definition: AppDefinition

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        let records = SampleRecords(definition: definition, visitor: visitor)
        var generator = SampleGenerator(seed: Self.seed)
        try records.metadata(["exportDate": .text("2026-01-10T18:30:00Z"), "version": .integer(Int64(definition.schemaVersion))])
        try records.collection("entries", entries(&generator))
        try records.collection("goals", goals(&generator))
        try records.collection("intakeTypes", intakeTypes(&generator))
        try records.settings([
            "autoBackupEnabled": .boolean(true), "cloudSyncEnabled": .boolean(false), "notificationsEnabled": .boolean(true),
        ])
    }

    private func entries(_ generator: inout SampleGenerator) -> [[String: FieldValue]] {
        var entries: [[String: FieldValue]] = []
        for day in 0..<Self.dayCount {
            for kind in Self.kinds {
                for minutes in kind.minutes where generator.number(below: 10) < 8 {
                    let late = Int64(generator.number(below: 25))
                    let seconds = Self.lastDaySeconds - Int64(Self.dayCount - 1 - day) * 86_400 + (minutes + late) * 60
                    entries.append([
                        "id": id(&generator), "date": .text(ISO8601.format(Timestamp(seconds: seconds))),
                        "name": .text(kind.name), "units": .text(kind.unit),
                        "amount": .real(kind.amount * Double(1 + generator.number(below: 4)) / 2),
                        "goalMet": .boolean(generator.number(below: 3) > 0),
                    ])
                }
            }
        }
        return entries
    }

    private func goals(_ generator: inout SampleGenerator) -> [[String: FieldValue]] {
        func dates(every days: Int64) -> FieldValue {
            let seconds = stride(from: Self.lastDaySeconds - 27 * 86_400, through: Self.lastDaySeconds, by: Int(days) * 86_400)
            return .text(DateList.joined(seconds.map { ISO8601.format(Timestamp(seconds: $0)) }))
        }
        return [
            [
                "id": id(&generator), "name": .text("Drink two litres a day"), "dates": dates(every: 1),
                "isActive": .boolean(true), "units": .text("ml"),
            ],
            [
                "id": id(&generator), "name": .text("Гулять через день"), "dates": dates(every: 2), "isActive": .boolean(false),
                "isCompleted": .boolean(true), "units": .text("km"),
            ],
        ]
    }

    private func intakeTypes(_ generator: inout SampleGenerator) -> [[String: FieldValue]] {
        Self.kinds.map { kind in
            [
                "id": id(&generator), "name": .text(kind.name), "unit": .text(kind.unit), "amount": .real(kind.amount),
                "frequency": .text(kind.frequency),
            ]
        }
    }

    /// A version 4 UUID that is not random.
    private func id(_ generator: inout SampleGenerator) -> FieldValue {
        var bytes = ByteWriter()
        bytes.append(generator.next())
        bytes.append(generator.next())
        var raw = bytes.bytes
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        var text = Array(Hexadecimal.encode(raw).uppercased())
        for index in [20, 16, 12, 8] { text.insert("-", at: index) }
        return .text(String(text))
    }
}

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
