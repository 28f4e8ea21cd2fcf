import BackupCore
import CTranslations

extension Language {
    // Each is read on first use.
    private static let russianCatalog = read(.russian)
    private static let kazakhCatalog = read(.kazakh)
    private static let turkishCatalog = read(.turkish)
    private static let germanCatalog = read(.german)

    /// The translations; `nil` for English, the source language.
    public var catalog: MessageCatalog? {
        switch self {
        case .english: nil
        case .russian: Self.russianCatalog
        case .kazakh: Self.kazakhCatalog
        case .turkish: Self.turkishCatalog
        case .german: Self.germanCatalog
        }
    }

    /// A message in this language.
    public func text(_ message: Message) -> String { message.text(catalog) }

    /// The `.po` file, empty for English.
    public var catalogFile: String {
        switch self {
        case .english: ""
        case .russian: Self.text(backupfs_translation_ru())
        case .kazakh: Self.text(backupfs_translation_kk())
        case .turkish: Self.text(backupfs_translation_tr())
        case .german: Self.text(backupfs_translation_de())
        }
    }

    private static func read(_ language: Language) -> MessageCatalog {
        MessageCatalog(language.catalogFile) { language.pluralForm(of: $0) }
    }

    /// The bytes are part of the program and live as long as it runs.
    private static func text(_ file: backupfs_translation) -> String {
        String(decoding: UnsafeBufferPointer(start: file.bytes, count: Int(file.count)), as: UTF8.self)
    }
}
