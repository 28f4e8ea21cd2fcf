import BackupCore
import Operations

/// Says that another store continues a store's backups, before a command uses them or removes some.
enum SuccessorWarning {
    static func show(_ store: Store) {
        if let notice = store.successorNotice { Terminal.complain("warning: \(notice)") }
    }
}
