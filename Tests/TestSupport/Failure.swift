import BackupCore

/// The `BackupError` that `body` throws; `nil` when it throws none.
public func failure(_ body: () throws -> Void) -> BackupError? {
    do {
        try body()
        return nil
    } catch {
        return error as? BackupError
    }
}

/// The code of the `BackupError` that `body` throws; `nil` when it throws none.
public func errorCode(_ body: () throws -> Void) -> BackupError.Code? { failure(body)?.code }
