import SystemIO
import TestSupport
import Testing

/// The pages that teach app definitions, and the page that lists their members.
@Suite struct DefinitionDocumentTests {
    private static let path = "\(Machine.projectPath)/Docs/reference/app-definitions.md"
    private static let schema = "\(Machine.projectPath)/Docs/reference/app-definition.schema.json"

    @Test func `every definition that a document shows is right`() throws {
        let program = try Machine.binaryPath()
        let folder = try TemporaryFolder()
        var count = 0
        for document in ["describe-an-app.md", "describe-exports.md", "describe-media.md", "describe-restores.md"] {
            let shown = try Document(path: "\(Machine.projectPath)/Docs/how-to/\(document)").definitions
            #expect(!shown.isEmpty)
            count += shown.count
            for (line, text) in shown {
                let file = try folder.write(text, to: "\(document)-\(line).yaml")
                let result = try run([program, "app", "check", file])
                #expect(
                    result.status == 0 && result.output == "\(file): no problems\n", "\(document), line \(line): \(result.output)"
                )
                #expect(try SchemaCheck.problems(ofYAML: [text], by: Self.schema) == [nil], "\(document), line \(line)")
            }
        }
        #expect(count >= 12)
    }

    @Test func `the reference has a row for each member of the schema, with its default`() throws {
        let script = #"""
            import json, re, sys
            schema = json.load(open(sys.argv[1]))
            defs = schema["$defs"]

            def resolved(part):
                while "$ref" in part and "properties" not in part and "default" not in part:
                    target = schema
                    for name in part["$ref"].split("/")[1:]:
                        target = target[name]
                    part = target
                return part

            top = {}
            for name, part in schema["properties"].items():
                top[name] = part
                inner = part.get("items", part)
                for each, member in inner.get("properties", {}).items():
                    top[name + "." + each] = member
                    for deeper in member.get("properties", {}):
                        top[name + "." + each + "." + deeper] = member["properties"][deeper]
            expected = {
                "The definition": (top, schema["required"]),
                "Wire formats": (defs["wireFormat"]["properties"], defs["wireFormat"]["required"]),
                "Metadata and settings": (defs["object"]["properties"], defs["object"]["required"]),
                "Collections": (defs["collection"]["properties"], defs["collection"]["required"]),
                "Fields": ({**defs["collectionField"]["properties"], **defs["objectField"]["properties"]}, defs["field"]["required"]),
            }
            sections = re.split(r"(?m)^## ", open(sys.argv[2]).read())[1:]
            found = {}
            for section in sections:
                title, text = section.split("\n", 1)
                rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.split("\n") if line.startswith("| `")]
                found[title] = {row[0].strip("` |"): row for row in rows}
            assert found.keys() == expected.keys(), found.keys()
            for title, (members, required) in expected.items():
                assert found[title].keys() == members.keys(), (title, found[title].keys() ^ members.keys())
                for name, part in members.items():
                    default = found[title][name][2]
                    if name in required:
                        assert default.startswith("required"), (title, name, default)
                    told = resolved(part).get("default")
                    if told is not None:
                        text = json.dumps(told) if isinstance(told, bool) else told
                        assert default.startswith("`" + text + "`"), (title, name, default, told)
            print("the same")
            """#
        let result = try run(["python3", "-c", script, Self.schema, Self.path])
        #expect(result.output == "the same\n", "\(result.output)")
    }
}
