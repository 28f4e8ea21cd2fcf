import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import SystemIO

struct CameraCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "camera",
        abstract: "Show what camera recorded a card, and how that is known.",
        discussion: """
            By the folders and names of the card, and by what the camera has written about itself. Clips are not opened.

            Example:
              backupfs camera /media/card
              backupfs camera --json /media/card | jq -r .type
            """)

    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The card, or a folder that has what was on it.", valueName: "dir"), completion: .directory)
    var folder: String

    func run() throws {
        let path = FileSystem.absolutePath(folder)
        let card = try CancellingSignals.run { () throws(BackupError) in try CardInspection.inspect(path) }
        if output.json { return Terminal.write(json: card.json) }
        for line in CameraReport.lines(card) { Terminal.write(line) }
    }
}
