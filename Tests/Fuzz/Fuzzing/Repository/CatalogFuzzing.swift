import BackupCore
import BackupRepository
import SystemIO

/// A catalog that an attacker has written, or that is damaged: nothing in it may hide or change a byte of the backups.
enum CatalogFuzzing {
    /// - Parameter bytes: the catalog's file; or, beginning with `sql:`, statements that are run in the right one.
    static func run(_ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        let repository = try ground.repository()
        try CatalogProbe.restore(repository)
        let isScript = bytes.starts(with: Array("sql:".utf8))
        if isScript {
            CatalogProbe.run(String(decoding: bytes.dropFirst(4), as: UTF8.self), in: repository)
        } else {
            try CatalogProbe.replace(repository, with: bytes)
        }
        do {
            if let difference = try CatalogProbe.difference(repository) { throw FuzzViolation(difference) }
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, [.repositoryDamaged, .inputOutput, .busy, .noSpace])
        }
    }
}
