import TestSupport
import Testing

/// A source with an ASC MHL history and another one in a folder of it. Both are made by the program of the ASC.
@Suite(.rotating(oneIn: 3)) struct NestedHistoryTests {
    /// Names before and after that of the history, since folders can be read in the order of their names.
    private static let folders = ["AAA", "zzz"]

    /// Which history is made first.
    enum Order: CaseIterable { case outerFirst, innerFirst }

    /// A card whose file `FOLDER/clip.mov` both histories have.
    /// - Parameter between: a script that runs before the second history is made.
    private static func sandbox(_ folder: String, _ order: Order, between: String = ":") throws -> Sandbox {
        let outer = """
            [ ! -e $F/ascmhl ] || mv $F/ascmhl $R/inner
            mhl create -h md5 $R/card; [ ! -e $R/inner ] || mv $R/inner $F/ascmhl
            """
        let inner = "mhl create -h md5 $F"
        let (first, second) = order == .outerFirst ? (outer, inner) : (inner, outer)
        return try ListTools.sandbox(
            """
            F=$R/card/\(folder); mkdir $F; head -c 3000001 /dev/urandom > $F/clip.mov; printf x > $F/other
            { \(first)
            \(between)
            \(second); } > $R/mhl.out
            [ -e $F/ascmhl/ascmhl_chain.xml ]; grep -q '\(folder)/clip.mov' $R/card/ascmhl/0001*; grep -q '>clip.mov' $F/ascmhl/0001*
            """)
    }

    private static let failures = "jq -r '.[] | select(.status != \"verified\") | \"\\(.path) \\(.status)\"' $J/results.json"

    @Test(arguments: folders, Order.allCases)
    func `a file that was damaged between two histories contradicts one of them`(folder: String, order: Order) throws {
        let sandbox = try Self.sandbox(folder, order, between: "flip $F/clip.mov 1000000")
        let result = try sandbox.fails(
            "backupfs copy $R/card $R/a", saying: "\(folder)/clip.mov: sourceMismatch", exitCode: 3)
        let list = order == .outerFirst ? "ascmhl/0001_card_" : "\(folder)/ascmhl/0001_\(folder)_"
        #expect(result.errors.contains("and \(list)"), "\(result.text)")
        #expect(try sandbox.sh("\(CopySandbox.findJob); \(Self.failures)") == "\(folder)/clip.mov sourceMismatch")
        // The other history alone knows nothing of the damage.
        let (seeing, blind) = order == .outerFirst ? ("$R/outer", "$F") : ("$F", "$R/outer")
        try sandbox.sh(
            """
            . $R/tools; F=$R/card/\(folder); cp -a $R/card $R/outer; rm -r $R/outer/\(folder)/ascmhl
            mhl verify \(blind) > $R/mhl.out; ! mhl verify \(seeing) > $R/mhl.out 2>&1; grep -q 'hash mismatch.*clip.mov' $R/mhl.out
            """)
    }

    @Test(arguments: folders, Order.allCases)
    func `a file that is damaged after two histories contradicts both`(folder: String, order: Order) throws {
        let sandbox = try Self.sandbox(folder, order)
        try sandbox.sh(
            """
            . $R/tools; backupfs copy $R/card $R/a > $R/out 2> $R/err; [ ! -s $R/err ]; mhl verify $R/a > $R/mhl.out
            mhl verify $R/a/\(folder) > $R/mhl.out; flip $R/card/\(folder)/clip.mov 1000000
            ! mhl verify $R/card > $R/mhl.out 2>&1; grep -q 'hash mismatch.*clip.mov' $R/mhl.out
            """)
        try sandbox.fails("backupfs copy $R/card $R/b", saying: "\(folder)/clip.mov: sourceMismatch", exitCode: 3)
    }

    @Test(arguments: folders) func `a file that one history has renamed is not missed by the other one`(folder: String) throws {
        let sandbox = try Self.sandbox(folder, .outerFirst)
        try sandbox.sh(
            """
            . $R/tools; mv $R/card/\(folder)/clip.mov $R/card/\(folder)/clip-2.mov; mhl create -dr -h md5 $R/card/\(folder) > $R/mhl.out
            grep -q 'previousPath>clip.mov' $R/card/\(folder)/ascmhl/0002*; backupfs copy $R/card $R/a > $R/out 2> $R/err; [ ! -s $R/err ]
            """)
    }

    @Test(arguments: folders) func `a file that one history has renamed after its damage is missed by the other one`(
        folder: String
    ) throws {
        let sandbox = try Self.sandbox(folder, .outerFirst, between: "flip $F/clip.mov 7")
        try sandbox.sh(
            ". $R/tools; F=$R/card/\(folder); mv $F/clip.mov $F/clip-2.mov; mhl create -dr -h md5 $F > $R/mhl.out; grep -q previousPath $F/ascmhl/0002*"
        )
        let result = try sandbox.fails("backupfs copy $R/card $R/a", saying: "it is in ascmhl/0001_card_", exitCode: 3)
        #expect(result.errors.contains("\(folder)/clip.mov"), "\(result.text)")
    }

    @Test func `a history that only an earlier generation of the one above knows is missed with a warning`() throws {
        // The program of the ASC makes the second generation all the same, and fails for the history that it misses.
        let sandbox = try ListTools.sandbox(
            """
            { mhl create -h md5 $R/card/DCIM; mhl create -h md5 $R/card; } > $R/mhl.out; cp -a $R/card $R/good; rm -r $R/card/DCIM/ascmhl
            ! mhl create -h md5 $R/card > $R/mhl.out 2>&1; grep -q 'Missing ASC MHL history' $R/mhl.out
            ls $R/card/ascmhl/0002*; ! grep -q hashlistreference $R/card/ascmhl/0002*
            """)
        let result = try sandbox.run("backupfs copy $R/card $R/a")
        #expect(result.exitCode == 0, "\(result.text)")
        let warnings = result.errors.split(separator: "\n")
        #expect(warnings.count == 1, "\(result.errors)")
        #expect(
            warnings.first?.hasPrefix("warning: \(sandbox("card"))/DCIM/ascmhl/0002_DCIM_") == true
                && warnings.first?.contains("is not in the source; an earlier generation") == true
                && warnings.first?.contains("(ascmhl/0001_card_") == true, "\(result.errors)")
        #expect(try sandbox.sh("\(CopySandbox.findJob); grep -c 'an earlier generation' $J/errors.txt") == "1")
        // A folder that has another name now has taken its history with it.
        try sandbox.sh(
            """
            . $R/tools; rm -r $R/card; cp -a $R/good $R/card; mv $R/card/DCIM $R/card/FOOTAGE; mhl create -h md5 $R/card > $R/mhl.out 2>&1 || true
            grep -q FOOTAGE/ascmhl $R/card/ascmhl/0002*; backupfs copy $R/card $R/b > $R/out 2> $R/err || true; ! grep 'earlier generation' $R/err
            """)
    }

    @Test func `a history knows the generations of the histories below it`() throws {
        let sandbox = try ListTools.sandbox(
            """
            mkdir -p $R/card/DCIM/100/sub; printf s > $R/card/DCIM/100/sub/s
            { mhl create -h md5 $R/card/DCIM/100/sub; mhl create -h md5 $R/card/DCIM; mhl create -h xxh64 $R/card; } > $R/mhl.out
            grep -c '<hashlistreference>' $R/card/ascmhl/0001* | grep -qx 1; cp -a $R/card $R/good
            """)
        try sandbox.sh(
            ". $R/tools; backupfs copy $R/card $R/a > $R/out 2> $R/err; [ ! -s $R/err ]; mhl verify $R/a > $R/mhl.out; mhl diff $R/a > $R/mhl.out"
        )
        // A history that was removed cannot miss its files any more; the one above it can miss the history.
        try sandbox.fails(
            "rm -r $R/card/DCIM/ascmhl $R/card/DCIM/large.mov; backupfs copy $R/card $R/b",
            saying: "it refers to a generation that is not in the source: DCIM/ascmhl/0002_DCIM_", exitCode: 3)
        try sandbox.fails(
            "rm -r $R/card; cp -a $R/good $R/card; rm -r $R/card/DCIM; backupfs copy $R/card $R/c",
            saying: "it refers to a generation that is not in the source: DCIM/ascmhl/0002_DCIM_", exitCode: 3)
        // One that was made again after the damage is another one.
        try sandbox.fails(
            """
            . $R/tools; rm -r $R/card; cp -a $R/good $R/card; flip $R/card/DCIM/large.mov 7; cd $R/card/DCIM/ascmhl; name=$(ls 0002*)
            rm -r $R/card/DCIM/ascmhl; { mhl create -h md5 $R/card/DCIM; mhl create -h md5 $R/card/DCIM; } > $R/mhl.out
            cd $R/card/DCIM/ascmhl; mv 0002* $R/moved; mv $R/moved $name; sed -i "s/0002_[^<]*/$name/" ascmhl_chain.xml
            cd $R; mhl verify $R/card/DCIM > $R/mhl.out; backupfs copy $R/card $R/d
            """, saying: "its C4 ID is not the one that ascmhl/0001_card_", exitCode: 1)
    }
}
