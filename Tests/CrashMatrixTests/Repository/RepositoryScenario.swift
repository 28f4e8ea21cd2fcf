import TestSupport
import Testing

/// An operation on the repository that is tried with every fault at every call. Before it there are three backups, "first",
/// "second" and "third", of which the last two have a photo each in a pack of their own.
struct RepositoryScenario: Sendable, CustomTestStringConvertible {
    let name: String
    /// A bash script that makes what the operation finds; `$B` is the program, `$Q` the repository.
    let preparation: String
    let arguments: [String]
    /// Backups that are there and whole at each moment, under these names.
    let kept: [String]
    /// Backups that are whole once the operation has been tried again, and those that it has removed have been brought back.
    let whole: [String]
    /// How the operation may end when it is tried again: a repair tells of what is lost.
    var lastExitCodes: Set<Int32> = [0]
    /// Whether a record is lost, which the repository goes on to expect until the user gives it up.
    var losesRecord = false

    var testDescription: String { name }

    /// All that a repair treats, with something lost and without.
    static let repairs = [
        repair(
            "packs with a lost stretch and with a flipped bit", kept: ["first"], whole: ["first", "second"],
            "overwrite $(pack third) 100000; flip $(pack second) 100000"),
        repair(
            "a pack that is missing and one that is cut off", kept: ["first"], whole: ["first", "second"],
            "rm $(pack third); truncate -s -10 $(pack second)"),
        repair(
            "a record that is lost and one with a flipped bit", kept: ["first"], whole: ["first", "second"],
            "overwrite $(record third) 40; flip $(record second) 60", losesRecord: true),
        repair(
            "labels, register, config and catalog", kept: ["first", "third"], whole: ["first", "second", "third"],
            """
            $B tag second --add precious --store $S; $B tag third --add dear --store $S
            overwrite $(label second) 20; flip $(label third) 30
            overwrite $Q/register 30; flip $Q/config 40; overwrite $Q/catalog.sqlite 2000; rm -f $Q/catalog.sqlite-*
            """),
    ]

    static let removals = [
        RepositoryScenario(
            name: "delete", preparation: "", arguments: ["delete", "second", "--yes"], kept: ["first", "third"],
            whole: ["first", "second", "third"],
            // It may be deleted already.
            lastExitCodes: [0, 1]),
        RepositoryScenario(
            name: "forget", preparation: "$B pin first --store $S", arguments: ["forget", "--keep-last", "1", "--yes"],
            kept: ["first", "third"], whole: ["first", "second", "third"]),
        RepositoryScenario(
            name: "undelete", preparation: "$B delete second --yes --store $S", arguments: ["undelete", "second"],
            kept: ["first", "third"], whole: ["first", "second", "third"], lastExitCodes: [0, 1]),
        prune,
    ]

    /// The second one is gone for good, but for its packs; the first can still be brought back.
    static let prune = RepositoryScenario(
        name: "prune",
        preparation:
            "BACKUPFS_FAULT=prune.removed-given-up=fail $B delete second --now --yes --store $S || [ $? = 1 ]; $B delete first --yes --store $S",
        arguments: ["prune", "--max-unused", "0"], kept: ["third"], whole: ["first", "third"])

    private static func repair(
        _ name: String, kept: [String], whole: [String], _ damage: String, losesRecord: Bool = false
    ) -> RepositoryScenario {
        RepositoryScenario(
            name: "check --repair, \(name)", preparation: functions + damage, arguments: ["check", "--repair", "--yes"],
            kept: kept, whole: whole, lastExitCodes: [0, 1], losesRecord: losesRecord)
    }

    private static let functions = """
        pack() { case $1 in second) find $Q/packs -size +150k -size -250k;; third) find $Q/packs -size +250k;; esac; }
        id() { $B snapshots --json --store $S | jq -r ".[] | select(.name == \\"$1\\").id"; }
        record() { echo $Q/snapshots/$(id $1).snapshot; }
        label() { echo $Q/labels/$(id $1).label; }
        change() { python3 -c "import sys
        with open(sys.argv[1], 'r+b') as file:
            file.seek(int(sys.argv[2])); old = file.read(len(sys.argv[3]))
            file.seek(int(sys.argv[2])); file.write(bytes(a ^ ord(b) for a, b in zip(old, sys.argv[3])))" "$@"; }
        flip() { change "$1" "$2" "$(printf '\\004')"; }
        overwrite() { change "$1" "$2" abcdefghijklmnopqrstuvwxyz; }

        """
}
