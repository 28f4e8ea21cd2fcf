import BackupCore
import Operations

/// Warns that another store continues a store's backups, before a command or a mount uses or removes some. A command that refuses has an error with the same
/// text: check for that first.
enum SuccessorWarning {
    static func show(_ store: Store) {
        if let notice = store.successorNotice { Terminal.complain("warning: \(notice)") }
    }
}
