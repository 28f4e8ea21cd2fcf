import BackupCore
import Operations

/// Says that another store continues a store's backups, before a command or a mount uses them or removes some. A command that refuses to has an error
/// that says so: ask first.
enum SuccessorWarning {
    static func show(_ store: Store) {
        if let notice = store.successorNotice { Terminal.complain("warning: \(notice)") }
    }
}
