#!/usr/bin/env bash
# Writes the man pages: manual.sh BINARY FOLDER
#
# backupfs(1) is made of what the program says of its commands, and of tables in Docs/; backupfs.yaml(5) of settings and of app definitions; mount.backupfs(8)
# of commands and of the page about mounting. The same program and documents always give the same pages; SOURCE_DATE_EPOCH
# gives them a date.
set -euo pipefail

binary=$(realpath -- "$1")
mkdir -p -- "$2"
folder=$(realpath -- "$2")
readonly binary folder
cd "$(dirname "$0")/../.."
readonly parts=mount-scripts/manual mount_heading="## \`backupfs mount\`"

command -v jq >/dev/null || { echo "manual.sh: jq is missing. Run: make dependencies" >&2; exit 1; }
help=$("$binary" --experimental-dump-help)
version=$("$binary" --version)
day=${SOURCE_DATE_EPOCH:+$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)}
readonly help version day

commands() { jq -r --arg part "$1" -f "$parts/commands.jq" <<< "$help"; }

# A section, or one table of it: section FILE HEADING [TABLE]
section() {
    awk -v heading="$2" -v table="${3:-0}" -f "$parts/markdown.awk" "$1" || { echo "manual.sh: $1 has no section \"$2\"" >&2; exit 1; }
}

title() { printf '.TH %s %s "%s" "backupfs %s" "%s"\n.ad l\n' "$1" "$2" "$day" "$version" "$3"; }

{
    title BACKUPFS 1 "User Commands"
    printf '.SH NAME\nbackupfs \\- %s\n' "$(commands name)"
    cat <<'END'
.SH SYNOPSIS
\fBbackupfs\fP \fIcommand\fP [\fIoptions\fP] [\fIarguments\fP]
.br
\fBbackupfs\fP \fImountpoint\fP [\fB\-o\fP \fIoptions\fP]
.SH DESCRIPTION
END
    commands description
    printf '.SH OPTIONS\nWhat commands have in common:\n'
    commands common
    printf '.SH COMMANDS\n'
    commands all
    printf '.SH MOUNT OPTIONS\nFor \\fB\\-o\\fP, separated by commas:\n'
    section Docs/reference/commands.md "$mount_heading" 2
    printf '.SH EXIT STATUS\n'
    section Docs/reference/errors.md '## Exit codes'
    printf '.SH ENVIRONMENT\n'
    section Docs/reference/commands.md '## Environment'
    cat <<'END'
.SH FILES
.TP
\fI~/.local/share/backupfs\fP
the default store
.TP
\fIstore.yaml\fP, \fIapp.yaml\fP
in a store: its settings and the definition of its app, \fBbackupfs.yaml\fP(5)
.TP
\fI/etc/backupfs/\fP\fBNAME\fP\fI.conf\fP
settings of \fBbackupfs@\fP\fINAME\fP\fB.service\fP
.SH EXAMPLES
Try it out with sample data:
.PP
.EX
    backupfs init \-\-sample
    mkdir ~/backups
    backupfs ~/backups
    mkdir ~/backups/snapshots/first
    cp ~/backups/snapshots/first/export.json ~/backups/restore/
    cat ~/backups/restore/last.txt
    backupfs umount
.EE
.SH SEE ALSO
\fBbackupfs.yaml\fP(5), \fBmount.backupfs\fP(8), \fBfusermount3\fP(1), \fBfuse\fP(4)
END
} > "$folder/backupfs.1"

{
    title BACKUPFS.YAML 5 "File Formats"
    cat <<'END'
.SH NAME
backupfs.yaml, store.yaml, app.yaml \- settings of a backupfs store, and definitions of apps
.SH DESCRIPTION
A store of \fBbackupfs\fP(1) is a folder with a file \fIstore.yaml\fP, which says which app it is for and where things lie. \fIapp.yaml\fP, or whatever name
\fIstore.yaml\fP gives it, is the definition of an app that is not built in. Both are YAML.
.SH SETTINGS OF A STORE
END
    section Docs/reference/settings.md '## The settings'
    printf '.SH REMOTES\n'
    section Docs/reference/settings.md '## Remotes'
    printf '.SH SCHEDULE\n'
    section Docs/reference/settings.md '## The schedule'
    printf '.SH WHAT IS KEPT\n'
    section Docs/reference/settings.md '## What is kept'
    printf '.SH DEFINITION OF AN APP\n'
    section Docs/reference/app-definitions.md '# App definitions'
    cat <<'END'
.SH SEE ALSO
\fBbackupfs\fP(1); \fBbackupfs app check\fP tells everything that is wrong with a definition, and \fBbackupfs app schema\fP prints its JSON Schema.
END
} > "$folder/backupfs.yaml.5"

{
    title MOUNT.BACKUPFS 8 "System Administration"
    cat <<'END'
.SH NAME
mount.backupfs \- mount a store of backupfs
.SH SYNOPSIS
\fBmount \-t backupfs\fP \fIstore\fP \fImountpoint\fP [\fB\-o\fP \fIoptions\fP]
.br
\fBmount.backupfs\fP \fIstore\fP \fImountpoint\fP [\fB\-fnrsvw\fP] [\fB\-o\fP \fIoptions\fP]
.SH DESCRIPTION
\fBmount\fP(8) runs this for the type \fBbackupfs\fP; it runs \fBbackupfs mount\fP. \fIstore\fP is the absolute path of a store, or \fBnone\fP with the option
\fBstore=\fP\fIdir\fP. There is no counterpart for \fBumount\fP(8), which needs none: it unmounts, and the process that served the mount ends by itself.
.PP
In the table of mounts the type is \fBfuse.backupfs\fP.
.SH OPTIONS
END
    section Docs/reference/commands.md "$mount_heading" 2
    printf '.SH FSTAB\n'
    section Docs/how-to/mount.md '## Mount at boot' 0
    cat <<'END'
.SH EXIT STATUS
.TP
\fB0\fP
mounted
.TP
\fB1\fP
the command line or an option is wrong
.TP
\fB32\fP
could not mount; the message says why
.SH SEE ALSO
\fBbackupfs\fP(1), \fBmount\fP(8), \fBfstab\fP(5), \fBsystemd.automount\fP(5)
END
} > "$folder/mount.backupfs.8"
