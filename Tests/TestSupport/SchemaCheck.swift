/// Validates documents against a JSON Schema with Python's jsonschema, an independent implementation.
public enum SchemaCheck {
    /// Reads YAML as version 1.2, as editors do: `yes` and dates are texts.
    private static let script = #"""
        import json, os, re, sys, yaml
        from jsonschema import Draft202012Validator, FormatChecker

        class Loader(yaml.SafeLoader):
            yaml_implicit_resolvers = {
                first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp"))]
                for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
            }

        Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))

        def unique(loader, node, deep=False):
            keys = [key.value for key, _ in node.value]
            if len(set(keys)) < len(keys):
                raise yaml.YAMLError("a key is there twice")
            return yaml.SafeLoader.construct_mapping(loader, node, deep)

        Loader.construct_mapping = unique

        with open(sys.argv[1]) as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema, format_checker=FormatChecker())

        def problem(path):
            try:
                with open(path) as file:
                    document = yaml.load(file, Loader) if path.endswith(".yaml") else json.load(file)
            except (yaml.YAMLError, ValueError) as error:
                return type(error).__name__
            errors = sorted(validator.iter_errors(document), key=lambda error: error.json_path)
            return "; ".join(error.json_path + ": " + error.message[:200] for error in errors)

        for path in sys.argv[2:]:
            found = problem(path)
            print(os.path.basename(path) + ": " + (found.replace("\n", " ") or "valid"))
        """#

    /// - Parameters:
    ///   - schema: a JSON Schema's file; it is checked against the meta-schema.
    ///   - documents: JSON files, or YAML if their names say so.
    /// - Returns: for each of them a line "NAME: valid" or "NAME: " and what is wrong, starting with the place ("$.cars[0].id:
    ///   …").
    public static func lines(_ documents: [String], by schema: String) throws -> [String] {
        let result = try run(["python3", "-c", script, schema] + documents)
        guard result.status == 0 else { throw Machine.Unusable("jsonschema: \(result.output)") }
        return result.output.split(separator: "\n").map(String.init)
    }

    /// The same for texts of YAML.
    /// - Returns: for each of them `nil`, or what is wrong.
    public static func problems(ofYAML texts: [String], by schema: String) throws -> [String?] {
        let folder = try TemporaryFolder()
        var paths: [String] = []
        for (index, text) in texts.enumerated() {
            let name = "\(index).yaml"
            try folder.write(Array(text.utf8), to: name)
            paths.append(folder(name))
        }
        // The folder is removed after its last use.
        let found = try lines(paths, by: schema)
        withExtendedLifetime(folder) {}
        return found.enumerated().map { index, line in
            let problem = String(line.dropFirst("\(index).yaml: ".count))
            return problem == "valid" ? nil : problem
        }
    }
}
