import BackupCommands

BackupFS.runAndExit()
