import BackupCore

/// Why a file could not be extracted: because the repository could not be read, which concerns this file alone, or because nothing can be written any more.
enum ExtractionFailure: Error {
    case content(BackupError)
    case target(BackupError)

    static func reading<Result>(_ body: () throws(BackupError) -> Result) throws(ExtractionFailure) -> Result {
        do {
            return try body()
        } catch {
            throw .content(error)
        }
    }

    static func writing<Result>(_ body: () throws(BackupError) -> Result) throws(ExtractionFailure) -> Result {
        do {
            return try body()
        } catch {
            throw .target(error)
        }
    }
}
