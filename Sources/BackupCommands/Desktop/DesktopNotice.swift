import BackupCore
import Formats
import SystemIO

/// A message or a question on the desktop, with buttons: notify-send(1) of libnotify, which all desktops have. Without a desktop
/// it goes to the terminal.
struct DesktopNotice {
    /// A button.
    enum Button: String {
        case show
        case undo
        case restore
        case delete
        case cancel

        fileprivate var label: Message {
            switch self {
            case .show: "Show"
            case .undo: "Undo"
            case .restore: "Restore"
            case .delete: "Delete"
            case .cancel: "Cancel"
            }
        }
    }

    /// A message that stays until it is answered is answered in that time, or not at all.
    private static let answerSeconds = 600.0
    private static let programName = "backupfs"
    private static let lineLimit = 3
    private static let textLimit = 200

    let title: Message
    /// Its first lines are shown.
    let text: Message
    var buttons: [Button] = []
    /// The button that says yes to a question. A message without a question needs no answer.
    var consent: Button?

    /// A question with two buttons.
    static func question(_ title: Message, _ text: Message, consent: Button) -> DesktopNotice {
        DesktopNotice(title: title, text: text, buttons: [consent, .cancel], consent: consent)
    }

    /// Shows the message, and waits until a button is pressed or it is closed.
    /// - Returns: the button; `nil` for none.
    @discardableResult func show() throws(BackupError) -> Button? {
        if let answer = onDesktop() { return answer.button }
        guard let consent else {
            Terminal.write(text)
            return nil
        }
        try ConfirmationPrompt.require(
            text, answer: consent.label, for: "this changes the app's data or its backups",
            remedy: "Install notify-send (on Debian: libnotify-bin), or run it in a terminal.")
        return consent
    }

    /// The same, and nothing without a desktop.
    func showOnDesktop() { _ = onDesktop() }

    /// - Returns: `nil` without a desktop, or without the program.
    private func onDesktop() -> (button: Button?, ())? {
        guard DesktopSession.hasMessages else { return nil }
        let language = Terminal.language
        // The text may be taken for markup.
        let lines = language.text(text).split(separator: "\n").prefix(Self.lineLimit)
        let body = HTMLText.escaped(
            lines.map { MessageText.shortened(String($0), limit: Self.textLimit) }.joined(separator: "\n"))
        var words = [
            "notify-send", "--app-name=\(Self.programName)", "--icon=drive-harddisk",
            "--urgency=\(consent != nil ? "critical" : "normal")",
        ]
        words += buttons.map { "--action=\($0.rawValue)=\(language.text($0.label))" }
        words += ["--", language.text(title), body]
        let environment = Dictionary(
            Subprocess.environmentForOthers().compactMap { variable in
                variable.firstIndex(of: "=").map { (String(variable[..<$0]), String(variable[variable.index(after: $0)...])) }
            }, uniquingKeysWith: { first, _ in first })
        let command = ShellCommand("exec \(ShellWords.text(of: words))", timeoutSeconds: Self.answerSeconds, folder: "/")
        guard let result = try? command.run(environment: environment), result.exitCode == 0 || result.hasTimedOut else {
            return nil
        }
        let answer = result.output.split(separator: "\n").last.flatMap { Button(rawValue: String($0)) }
        return (buttons.first { $0 == answer }, ())
    }
}
