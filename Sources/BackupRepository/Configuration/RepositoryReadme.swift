import BackupCore
import SystemIO

/// A file that explains the folder to people: `config` alone means nothing to a user who finds the folder in ten years. No program reads it.
enum RepositoryReadme {
    private static let text = """
        This folder is a repository of backupfs, a backup program for the data of one app.
        It holds all backups that were made into it. Copy or move it as a whole.

        Do not change, rename or remove anything in it by hand.
          List the backups:    backupfs init --repository THIS-FOLDER --store NEW-FOLDER
                               backupfs snapshots --store NEW-FOLDER
          Look for damage:     backupfs check --store NEW-FOLDER
        If there is a file named "key", the backups are encrypted: nothing of them can be read
        without the password.

        If there is no backupfs any more: every byte here is described in its document
        "Repository format, version 1" (Docs/repository-format.md), which is enough to write a
        reader. The data are chunks, compressed with DEFLATE (RFC 1951) and named by SHA-256;
        each file in packs/ says at its end what is in it, snapshots/ has one small file for
        each backup, which names its folders and files.

        """

    /// Writes it if it is missing. Nothing depends on it: a full disk does not make a backup fail because of it.
    static func add(_ layout: RepositoryLayout) {
        guard (try? FileSystem.exists(layout.readme)) == false else { return }
        try? OwnerOnly.publish(Array(text.utf8), to: layout.readme, temporaryFolder: layout.temporary)
    }
}
