import TestSupport
import Testing

/// Lists of checksums that came with a source.
@Suite(.rotating(oneIn: 3)) struct SourceListTests {
    private static let makers = [
        "md5sum": "find . -type f ! -name MD5SUMS | sort | xargs -d '\\n' md5sum > $R/sums; mv $R/sums MD5SUMS",
        "sha256sum": "find * -type f | xargs -d '\\n' sha256sum -b > $R/sums; mv $R/sums SHA256SUMS",
        "sha512sum": "find * -type f | xargs -d '\\n' sha512sum > $R/sums; mv $R/sums card.sha512",
        "BSD": "find * -type f | xargs -d '\\n' sha1sum --tag > $R/sums; mv $R/sums sha1sums.txt",
        "Windows": "find * -type f | xargs -d '\\n' md5sum | sed 's/$/\\r/' > $R/sums; mv $R/sums card.md5",
        "ascmhl": "mhl create -h xxh128 -h md5 . > $R/mhl.out",
    ]

    @Test(arguments: makers.keys.sorted())
    func `a source is compared with its list: as it was, with a flipped byte, with a lost and with a new file`(maker: String)
        throws
    {
        let sandbox = try ListTools.sandbox("cd $R/card; \(try #require(Self.makers[maker]))")
        try sandbox.sh("backupfs copy $R/card $R/a > $R/out 2> $R/err; [ ! -s $R/err ]; \(CopySandbox.findJob)")
        #expect(try sandbox.sh("jq -r '[.[].status] | unique | join(\" \")' $J/results.json") == "verified")

        let result = try sandbox.run(
            """
            . $R/tools; flip $R/card/DCIM/large.mov 5000000; mv $R/card/MISC/7.txt $R/lost; printf new > $R/card/MISC/new
            backupfs copy $R/card $R/b; echo $?; \(CopySandbox.findJob)
            """)
        #expect(result.lines.last == "3", "\(result.text)")
        #expect(
            try sandbox.sh("jq -r '.[] | select(.status != \"verified\") | \"\\(.path) \\(.status)\"' $J/results.json")
                == "DCIM/large.mov sourceMismatch")
        #expect(
            try sandbox.sh("cmp $R/card/DCIM/large.mov $R/b/DCIM/large.mov; head -n 1 $J/errors.txt; sed -n 2p $J/errors.txt")
                == "Errors: 2\nWarnings: 1")
        #expect(result.errors.contains("MISC/7.txt") && result.errors.contains("and not in the source"), "\(result.text)")
        #expect(result.errors.contains("MISC/new: no list of checksums has this file"))
        // The record and the resumed job know it, too.
        try sandbox.fails("backupfs copy --resume $(readlink $J)", saying: "sourceMismatch", exitCode: 3)
        try sandbox.sh(". $R/tools; flip $R/card/DCIM/large.mov 5000000; mv $R/lost $R/card/MISC/7.txt; rm $R/b/DCIM/large.mov")
        try sandbox.sh(
            "backupfs copy --resume $(readlink $J) > $R/out; grep -qx completed $J/state; cmp $R/card/DCIM/large.mov $R/b/DCIM/large.mov"
        )
    }

    @Test(arguments: ["", "--md5", "--sha512"])
    func `a bag is compared with its own lists`(option: String) throws {
        let sandbox = try ListTools.sandbox(
            #"printf x > $R/card/$'line\nfeed'; bag=$(type bag_check | grep -o "'.*bagit.py'" | tr -d "'"); $bag --quiet \#(option) $R/card"#
        )
        try sandbox.sh("backupfs copy $R/card $R/a > $R/out 2> $R/err; [ ! -s $R/err ]; . $R/tools; bag_check $R/a")
        try sandbox.fails(
            ". $R/tools; flip $R/card/data/DCIM/large.mov 5; backupfs copy $R/card $R/b", saying: "sourceMismatch", exitCode: 3)
        // Our own bags, with encoded percent signs, too.
        try sandbox.sh(
            "mkdir $R/plain; printf y > $R/plain/100%25; backupfs copy --manifest bagit $R/plain $R/bag > $R/out; backupfs copy $R/bag $R/c > $R/out 2> $R/err; [ ! -s $R/err ]"
        )
    }

    @Test func `a list can be named, or be left alone`() throws {
        let sandbox = try ListTools.sandbox("cd $R/card/DCIM; sha256sum large.mov one.txt > $R/card/DCIM/list; flip large.mov 77")
        // A list in a folder is about that folder; it is not looked for there.
        try sandbox.sh("backupfs copy $R/card $R/a > $R/out")
        try sandbox.fails(
            "backupfs copy --verify-source $R/card/DCIM/list $R/card $R/b", saying: "DCIM/large.mov: sourceMismatch", exitCode: 3)
        // One elsewhere is about the source.
        try sandbox.fails(
            "cd $R/card; sed 's|  |  DCIM/|' DCIM/list > $R/list; backupfs copy --verify-source $R/list $R/card $R/c",
            saying: "DCIM/large.mov: sourceMismatch", exitCode: 3)
        try sandbox.sh(
            "cp $R/list $R/card/SHA256SUMS; backupfs copy --verify-source off $R/card $R/d > $R/out; cmp $R/card/SHA256SUMS $R/d/SHA256SUMS"
        )
        try sandbox.fails(
            "backupfs copy --verify-source $R/none $R/card $R/e", saying: "there is no such list of checksums", exitCode: 1)
    }

    @Test func `hidden files of a list are not called missing`() throws {
        let sandbox = try ListTools.sandbox(
            "printf x > $R/card/.hidden; cd $R/card; find . -type f ! -name '*SUMS' -exec md5sum {} + > $R/sums; mv $R/sums MD5SUMS"
        )
        let result = try sandbox.run("backupfs copy $R/card $R/a")
        #expect(
            result.exitCode == 0
                && result.errors.contains("1 file of a list begins with a dot and was left out: --hidden copies and compares it"),
            "\(result.text)")
        try sandbox.sh("backupfs copy --hidden $R/card $R/b > $R/out 2> $R/err; [ ! -s $R/err ]")
    }

    private static let bomb =
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><hashlist>&b;</hashlist>"
    private static let start = "<?xml version=\"1.0\"?><hashlist version=\"2.0\" xmlns=\"urn:ASC:MHL:v2.0\"><hashes>"
    private static let md5 = "d41d8cd98f00b204e9800998ecf8427e"

    private static func hash(_ path: String, _ digest: String = md5) -> String {
        "\(start)<hash><path>\(path)</path><md5>\(digest)</md5></hash></hashes></hashlist>"
    }

    static let hostile: [(name: String, content: String, message: String)] = [
        ("list.mhl", bomb, "it declares a document type"),
        ("list.mhl", hash("../outside"), "it names a file outside of its folder"),
        ("list.mhl", hash("/etc/passwd"), "it names a file outside of its folder"),
        ("list.mhl", start, "the XML is not well formed"),
        ("list.mhl", hash("a/../../b"), "it names a file outside of its folder"), ("list.mhl", "", "the XML is not well formed"),
        ("list.mhl", hash("x", "zz"), "this is no md5 of a file"), ("list.mhl", "<other/>", "it is no ASC MHL list"),
        ("list.mhl", "\(start)<!-- \(String(repeating: "x", count: 3 << 20))", "is too long"),
        ("list.mhl", hash(String(repeating: "x", count: 70_000)), "an element has too much text"),
        ("list.mhl", String(repeating: "<a>", count: 40), "nested too deeply"),
        ("list.mhl", hash("\u{1}"), "the XML is not well formed"),
        ("MD5SUMS", "\(md5)  ../x\n", "it names a file outside of its folder"), ("MD5SUMS", "hello\n", "a line is no checksum"),
        ("MD5SUMS", "\(md5)  /etc/passwd\n", "it names a file outside of its folder"),
        ("MD5SUMS", "\\\(md5)  a\\x\n", "a line is no checksum"),
        ("MD5SUMS", "\(md5)  \(String(repeating: "x/", count: 40_000))\n", "a line is too long"),
    ]

    @Test(arguments: hostile.indices)
    func `a hostile or damaged list is refused before anything is copied`(index: Int) throws {
        let (name, content, message) = Self.hostile[index]
        let sandbox = try CopySandbox.make("mkdir $R/card; printf x > $R/card/x")
        try sandbox.write(content, to: name)
        try sandbox.fails("backupfs copy --verify-source $R/\(name) $R/card $R/a", saying: message, exitCode: 1)
        #expect(try sandbox.sh("ls -A $R/a 2>&1 || true").hasPrefix("ls: cannot access"))
    }

    @Test func `a history that was changed proves nothing`() throws {
        let sandbox = try ListTools.sandbox("mhl create -h md5 $R/card > $R/mhl.out; cp -r $R/card/ascmhl $R/good")
        let changes = [
            ("sed -i 's/original/verified/' $R/card/ascmhl/0001*", "its C4 ID is not that of the chain"),
            ("rm $R/card/ascmhl/0001*", "a generation of the history is missing"),
            ("rm $R/card/ascmhl/ascmhl_chain.xml", "the history has generations, and no chain"),
            ("printf '<x/>' > $R/card/ascmhl/ascmhl_chain.xml", "it is no chain of an ASC MHL history"),
        ]
        for (change, message) in changes {
            try sandbox.fails("\(change); backupfs copy $R/card $R/a", saying: message, exitCode: 1)
            try sandbox.sh("rm -rf $R/card/ascmhl $R/a; cp -r $R/good $R/card/ascmhl")
        }
    }

    @Test func `a list of 200,000 files needs little memory`() throws {
        let sandbox = try CopySandbox.make(
            #"mkdir $R/card; printf x > $R/card/x; seq 200000 | sed 's|.*|d41d8cd98f00b204e9800998ecf8427e  folder/sub/name-&.mov|' > $R/card/MD5SUMS"#
        )
        let kibibytes = try sandbox.sh(
            """
            python3 -c 'import resource, subprocess, sys
            subprocess.run(["backupfs", "copy"] + sys.argv[1:], stderr=open(sys.argv[2] + ".err", "w"), stdout=sys.stderr)
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' $R/card $R/a
            grep -q '200000 files of its lists of checksums are not in the source' $R/home/.local/state/backupfs/jobs/*/errors.txt
            """)
        #expect(try #require(Int(kibibytes)) < 100 << 10)
    }
}
