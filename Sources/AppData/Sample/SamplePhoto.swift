import BackupCore

/// A file of the sample data's media folder.
public struct SamplePhoto: Sendable {
    /// Below the media folder.
    public let path: String
    public let takenAt: Timestamp
    /// A PNG file.
    public let content: [UInt8]

    private init(_ path: String, _ takenAtSeconds: Int64) {
        self.path = path
        takenAt = Timestamp(seconds: takenAtSeconds)
        content = SampleImage(seed: UInt64(takenAtSeconds)).png
    }

    /// The photos of SmilePile, which has no subfolders.
    static var piles: [SamplePhoto] {
        [
            SamplePhoto("first_day.png", 1_736_845_200), SamplePhoto("бабушка.png", 1_740_300_300),
            SamplePhoto("harbour.png", 1_752_242_100), SamplePhoto("fox.png", 1_744_531_980),
            SamplePhoto("birthday cake.png", 1_749_303_000), SamplePhoto("été à la mer.png", 1_753_520_400),
            SamplePhoto("lighthouse.png", 1_753_878_600), SamplePhoto("two herons.png", 1_757_918_700),
        ]
    }

    /// The photos of the photo library: folders by year and event, and one photo that is in two of them.
    static var library: [SamplePhoto] {
        [
            SamplePhoto("2024/Winter/IMG_0001.png", 1_705_399_200), SamplePhoto("2024/Winter/IMG_0002.png", 1_705_402_800),
            SamplePhoto("2024/Алматы/вид с горы.png", 1_718_012_520), SamplePhoto("2024/Алматы/IMG_0107.png", 1_718_016_060),
            SamplePhoto("2025/Garden/IMG_0230.png", 1_746_361_800), SamplePhoto("2025/Garden/IMG_0231.png", 1_746_361_860),
            SamplePhoto("2025/Sea/IMG_0412.png", 1_753_520_400), SamplePhoto("2025/Sea/IMG_0413.png", 1_753_524_000),
            SamplePhoto("2025/Best of/IMG_0412.png", 1_753_520_400), SamplePhoto("unsorted.png", 1_767_945_600),
        ]
    }
}
