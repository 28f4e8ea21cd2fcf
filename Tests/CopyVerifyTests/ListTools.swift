import SystemIO
import TestSupport
import Testing

/// Programs of others that read and write lists of checksums, for scripts of a `CopySandbox`. A machine without one fails the
/// tests.
enum ListTools {
    private static func path(_ name: String) throws(Machine.Unusable) -> String {
        if let path = Machine.pythonTool(name) { return path }
        throw Machine.Unusable("\(name) is not there. Install it with: make test-dependencies")
    }

    /// - `mhl` is the ascmhl of the ASC, `mhl_check FOLDER` compares the files of a history with the schemas of the ASC.
    /// - `bag_check FOLDER` validates a bag.
    /// - `hash_of ALGORITHM FILE` prints the digest of a file, as a list has it.
    /// - `flip FILE OFFSET` changes one bit of a file, and keeps its time.
    static func functions() throws(Machine.Unusable) -> String {
        let schemas = "\(Machine.projectPath)/Tests/CopyVerifyTests/Schemas"
        return #"""
            mhl() {
                case $1 in
                    verify) '\#(try path("ascmhl-debug"))' "$@" ;;
                    *) '\#(try path("ascmhl"))' "$@" ;;
                esac
            }
            mhl_check() {
                local file
                for file in "$1"/ascmhl/*.mhl; do
                    '\#(try path("ascmhl-debug"))' xsd-schema-check -xsd '\#(schemas)/ASCMHL.xsd' "$file" > $R/schema.out 2>&1 || { cat $R/schema.out; return 1; }
                done
                '\#(try path("ascmhl-debug"))' xsd-schema-check -df -xsd '\#(schemas)/ASCMHLDirectory__combined.xsd' "$1/ascmhl/ascmhl_chain.xml" > $R/schema.out 2>&1 || { cat $R/schema.out; return 1; }
            }
            bag_check() { '\#(try path("bagit.py"))' --validate --quiet "$1"; }
            hash_of() {
                case $1 in
                    md5 | sha1 | sha256) ${1}sum "$2" | cut -d ' ' -f 1 ;;
                    *) mhl_hash "$1" "$2" ;;
                esac
            }
            mhl_hash() { '\#(try path("ascmhl-debug"))' hash -h "$1" "$2" | sed -n 's/.* = //p'; }
            flip() {
                touch -r "$1" $R/time
                python3 -c 'import sys
            f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); b = f.read(1)[0]; f.seek(int(sys.argv[2])); f.write(bytes([b ^ 1]))' "$1" "$2"
                touch -r $R/time "$1"
            }

            """#
    }

    /// A sandbox whose scripts begin with `. $R/tools`, which has these functions and the usual source.
    static func sandbox(_ scripts: String...) throws -> Sandbox {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        try FileSystem.writeFileAtomically(sandbox("tools"), Array(functions().utf8))
        for script in scripts { try sandbox.sh(". $R/tools; \(script)") }
        return sandbox
    }
}
