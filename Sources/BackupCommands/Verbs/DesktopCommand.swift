import ArgumentParser
import BackupCore
import Glibc
import Operations
import SystemIO
import VirtualTree

struct DesktopCommand: ParsableCommand {
    enum Action: String, ExpressibleByArgument, CaseIterable {
        case open
        case backUp = "back-up"
        case versions
        case restore
        case delete
    }

    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Do what a file manager's menu asks for, and say on the desktop how it went.",
        discussion: """
            The entries in the menus of Nautilus, Nemo, Dolphin and Thunar run this. It works in the mounted folder, and needs no \
            password. Results and questions are messages with buttons (notify-send); without a desktop they go to the terminal.

            open shows the mounted folder, or a file's place in it. back-up makes a backup. versions shows all versions of a file of \
            the mounted folder or of the app's media folder. restore brings back what a file or folder in the mount has, after a \
            question: a backup, an export or a database replaces all data; a file of history/ or data/ changes these records; a \
            photo or another media file is put back into the app's media folder, and never replaces a file there. delete removes a \
            backup, which can be brought back for a while.

            Example:
              backupfs desktop versions ~/app/photos/IMG_1.jpg
            """)

    @Argument(help: "What to do.") var action: Action
    @Argument(
        help: ArgumentHelp("A file or folder. Without it, the first mounted folder is meant.", valueName: "path"),
        completion: .file())
    var path: String?

    func run() throws {
        let hasWorked: Bool
        do throws(BackupError) {
            hasWorked = try perform()
        } catch {
            // A cancelled question needs no answer, and a terminal shows the error itself.
            if error.code != .interrupted, !Terminal.isErrorTerminal {
                DesktopNotice(title: Self.title, text: error.fullText).showOnDesktop()
            }
            throw error
        }
        // What failed was shown.
        if !hasWorked { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private static let title: Message = "Backups"

    /// - Returns: false if it failed, and the desktop says why.
    private func perform() throws(BackupError) -> Bool {
        let place = try DesktopPlace(path)
        switch action {
        case .open: show(place.path(place.names))
        case .backUp:
            let text = try place.ask(.backup, "")
            let button = try DesktopNotice(title: Self.title, text: text, buttons: [.show]).show()
            if button == .show { show(place.path(["snapshots", "latest"])) }
        case .versions: try showVersions(place)
        case .restore: return try restore(place)
        case .delete: try delete(place)
        }
        return true
    }

    private func showVersions(_ place: DesktopPlace) throws(BackupError) {
        guard let names = place.versions else {
            throw BackupError(
                .invalidArgument, "has no versions", path: path,
                remedy: "There are versions of the files in the app's media folder, and of the collections in data/.")
        }
        let folder = place.path(names)
        guard try FileSystem.exists(folder) else { throw BackupError(.notFound, "no backup has this file yet", path: path) }
        show(folder)
    }

    private func restore(_ place: DesktopPlace) throws(BackupError) -> Bool {
        guard let item = DesktopItem(place.names) else {
            throw BackupError(
                .invalidArgument, "cannot be restored", path: path,
                remedy: "Choose a backup in snapshots/, or a file in it, in exports/, safety/, versions/ or history/.")
        }
        try require(question(item), .restore, place)
        switch item {
        case .backup(_, let archive): return try drop(archive, replacesAll: true, place)
        case .everything(let file): return try drop(file, replacesAll: true, place)
        case .records(let file): return try drop(file, replacesAll: false, place)
        case .media(let file, let path, let version):
            try putBack(place, file, path, version)
            return true
        }
    }

    /// - Throws: `interrupted` without a yes.
    private func require(
        _ question: Message, _ consent: DesktopNotice.Button, _ place: DesktopPlace
    ) throws(BackupError) {
        guard try DesktopNotice.question(Self.title, question, consent: consent).show() == consent else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
        try place.requireSame()
    }

    /// As rmdir(1) does: the backup can be brought back for a while.
    private func delete(_ place: DesktopPlace) throws(BackupError) {
        guard place.names.count == 2, place.names[0] == "snapshots" else {
            throw BackupError(.invalidArgument, "is not the folder of a backup", path: path)
        }
        let name = place.names[1]
        try require("Delete the backup \(Self.shown(name))? It can be brought back for some days.", .delete, place)
        let folder = place.path(place.names)
        guard rmdir(folder) == 0 else { throw SystemCall.error(errno, action: "remove", path: folder) }
        let button = try DesktopNotice(title: Self.title, text: "\(Self.shown(name)): deleted", buttons: [.undo]).show()
        if button == .undo {
            try place.requireSame()
            try DesktopNotice(title: Self.title, text: place.ask(.undelete, name.description)).show()
        }
    }

    private func question(_ item: DesktopItem) -> Message {
        switch item {
        case .backup(let name, _): "Replace all data of the app with the backup \(Self.shown(name))?"
        case .everything(let file): "Replace all records of the app with those in \(Self.shown(file[file.count - 1]))?"
        case .records(let file): "Bring back the records in \(Self.shown(file[file.count - 1]))? All others stay as they are."
        case .media(_, let path, _):
            "Put \(Self.shown(path[path.count - 1])) back into the app's media folder? No file there is replaced."
        }
    }

    /// On one line.
    private static func shown(_ name: FileName) -> String { MessageText.name(name.bytes) }

    /// Copies a file of the mount into its folder `restore/`, as a person would.
    /// - Returns: whether it was restored.
    private func drop(_ file: [FileName], replacesAll: Bool, _ place: DesktopPlace) throws(BackupError) -> Bool {
        let report = place.path(["restore", "last.txt"])
        let earlier = try FileSystem.look(report)
        let copy = try CancellingSignals.run { () throws(BackupError) in
            // The question was the confirmation that the setting confirm-restores wants; without the setting it is not looked at.
            // It is for this restore alone.
            let confirmation = place.path(["restore", "CONFIRM"])
            if replacesAll { _ = try OwnedDescriptor.open(confirmation, O_WRONLY | O_CREAT, permissions: 0o600) }
            defer { if replacesAll { try? FileSystem.removeFile(confirmation) } }
            let words = ["cp", "--", place.path(file), place.path(["restore", file[file.count - 1]])]
            return try ShellCommand("exec \(ShellWords.text(of: words))", timeoutSeconds: .infinity, folder: "/").run(
                environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        }
        // A copy that fails before there is anything to restore leaves the report of an earlier restore.
        let made = try FileSystem.look(report)
        let hasReport = made?.modificationTime != earlier?.modificationTime
        let text = hasReport ? String(decoding: try FileSystem.readFile(report), as: UTF8.self) : copy.output
        let isRestored = copy.exitCode == 0
        let notice = DesktopNotice(
            title: isRestored ? "Restored" : "Not restored", text: .verbatim(text),
            buttons: (isRestored && hasReport ? [.undo] : []) + (hasReport ? [.show] : []))
        switch try notice.show() {
        case .show: show(report)
        case .undo:
            try place.requireSame()
            guard try FileSystem.look(report)?.modificationTime == made?.modificationTime else {
                throw BackupError(
                    .busy, "something else was restored meanwhile, so nothing was undone", path: report,
                    remedy: "Restore the safety backup that the report names.")
            }
            try DesktopNotice(title: Self.title, text: place.ask(.undo, "yes")).show()
        case .restore, .delete, .cancel, nil: break
        }
        return isRestored
    }

    private func putBack(
        _ place: DesktopPlace, _ file: [FileName], _ path: [FileName], _ version: String
    ) throws(BackupError) {
        guard let folder = try place.storePath.flatMap({ (root) throws(BackupError) in try StorePaths(root: root).mediaFolder() })
        else {
            throw BackupError(.notFound, "the app's media folder is not known", path: place.mountpoint)
        }
        let media = MediaReturn(source: place.path(file), path: path, version: version, folder: folder)
        let cancellation = Cancellation.current ?? Cancellation()
        let outcome = try CancellingSignals.run { () throws(BackupError) in
            try cancellation.run { () throws(BackupError) in try media.run() }
        }
        let text: Message =
            switch outcome {
            case .back(let name): "Put back: \(Self.shown(name))"
            case .beside(let name): "Another file has this name. The one of the backup is beside it as \(Self.shown(name))"
            case .present: "The same file is there already."
            }
        let button = try DesktopNotice(title: Self.title, text: text, buttons: [.show]).show()
        if button == .show {
            show(([folder] + path.dropLast().map(\.description)).joined(separator: "/"))
        }
    }

    /// In the program of the desktop for it, which goes on when this one ends.
    private func show(_ path: String) {
        guard let null = try? OwnedDescriptor.open("/dev/null", O_RDWR),
            let output = try? OwnedDescriptor.duplicate(null, from: 10),
            (try? Subprocess(
                "xdg-open", ["xdg-open", path], environment: Subprocess.environmentForOthers(),
                descriptors: [output.rawValue, output.rawValue], leads: .session)) != nil
        else {
            Terminal.write(verbatim: "\(path)\n")
            return
        }
    }
}
