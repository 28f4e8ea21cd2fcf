import Foundation
import TestSupport

/// In which state a power cut leaves the catalog. SQLite writes it by itself, at times of its own: it may be behind the packs or
/// ahead of them, or not there; and it is to do no harm even when it is nonsense.
enum CatalogState: CaseIterable, Sendable {
    case absent, fromTheBeginning, fromTheEnd, cutOff, garbage

    /// The catalog's files, closed, of two moments.
    struct Copies: Sendable {
        let beginning: [UInt8]
        let end: [UInt8]
    }

    func write(to repository: String, _ copies: Copies) throws {
        let path = repository + "/catalog.sqlite"
        switch self {
        case .absent: return
        case .fromTheBeginning: try writeFile(path, copies.beginning)
        case .fromTheEnd: try writeFile(path, copies.end)
        case .cutOff: try writeFile(path, Array(copies.end.prefix(copies.end.count / 2)))
        case .garbage: try writeFile(path, TestData.random(10_000, seed: 99))
        }
    }
}
