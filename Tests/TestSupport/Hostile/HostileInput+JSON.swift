/// Exports that are not JSON, not this app's, or incomplete.
extension HostileInput {
    private static let notAFormat = "Invalid file format. Please select a valid backup file."

    public static let exports: [HostileInput] = [
        .json("a line feed alone", .invalidContent, notAFormat, "write(b'\\n')"),
        .json("text", .invalidContent, notAFormat, "write(b'hello')"),
        .json("noise", .invalidContent, notAFormat, "write(bytes((i * 7 + 128) & 255 | 128 for i in range(100000)))"),
        .json("compressed with gzip", .invalidContent, notAFormat, "import gzip; write(gzip.compress(text.encode()))"),
        .json("cut off before its end", .invalidContent, notAFormat, "write(text.rstrip().encode()[:-1])"),
        .json("cut off in the middle", .invalidContent, notAFormat, "write(text.encode()[:700])"),
        .json("two documents", .invalidContent, notAFormat, "write(text.encode() * 2)"),
        .json("NUL bytes behind it", .invalidContent, notAFormat, "write(text.encode() + bytes(512))"),
        .json("a list", .invalidContent, notAFormat, "write(b'[]')"),
        .json("an empty object", .invalidContent, "Import failed: missing field metadata", "write(b'{}')"),
        .json(
            "a text in place of a list", .invalidContent, "Import failed: ",
            "write(change('\"cars\": [', '\"cars\": \"x\", \"other\": ['))"),
        .json("a trailing comma", .invalidContent, notAFormat, "write(change('\"carId\": 1\\n', '\"carId\": 1,\\n'))"),
        .json("a comma too many", .invalidContent, notAFormat, "write(change('\"id\": 1,', '\"id\": 1,,'))"),
        .json("a leading zero", .invalidContent, notAFormat, "write(change('\"id\": 1,', '\"id\": 01,'))"),
        .json("NaN", .invalidContent, notAFormat, "write(change('\"batteryCapacity\": 60.0', '\"batteryCapacity\": NaN'))"),
        .json("a comment", .invalidContent, notAFormat, "write(change('{', '{ /* mine */'))"),
        .json("single quotes", .invalidContent, notAFormat, "write(change('\"Tesla Model 3\"', \"'Tesla'\"))"),
        .json("a raw line feed in a text", .invalidContent, notAFormat, "write(change('Tesla', 'Te\\nsla'))"),
        .json("a NUL in a text", .invalidContent, notAFormat, "write(change('Tesla', 'Te\\0sla'))"),
        .json("half of a surrogate pair", .invalidContent, notAFormat, "write(change('Tesla', 'Te\\\\ud800sla'))"),
        .json("bytes that are not UTF-8", .invalidContent, notAFormat, "write(text.encode().replace(b'Tesla', b'Te\\xffsla'))"),
        .json("an overlong encoding", .invalidContent, notAFormat, "write(text.encode().replace(b'Tesla', b'Te\\xc0\\xafsla'))"),
        .json("UTF-16", .invalidContent, notAFormat, "write(text.encode('utf-16'))"),
        .json("UTF-16 without a mark", .invalidContent, notAFormat, "write(text.encode('utf-16-le'))"),
        .json(
            "a key twice in a record", .invalidContent, "carId",
            "write(change('\"carId\": 1\\n', '\"carId\": 1, \"carId\": 1\\n'))"),
        .json(
            "a key twice by another spelling", .invalidContent, "carId",
            "write(change('\"carId\": 1\\n', '\"carId\": 1, \"c\\\\u0061rId\": 1\\n'))"),
        .json("a collection twice", .invalidContent, "expenses", "write(change('\"cars\"', '\"expenses\": [], \"cars\"'))"),
        .json(
            "an id twice", .invalidContent, "car 1",
            "write(text.replace('\"expenses\": [', '\"expenses\": [', 1).replace('\"cars\": [', '\"cars\": [' + text[text.index('\"cars\": [') + 9:text.index('],')] + ',', 1).encode())"
        ),
        .json("200,000 lists in each other, unclosed", .invalidContent, notAFormat, "write(b'{\"a\":' + b'[' * 200000)"),
        .json(
            "200,000 lists in each other", .invalidContent, notAFormat, "write(b'{\"a\":' + b'[' * 200000 + b']' * 200000 + b'}')"
        ),
        .json(
            "a number of a million digits", .invalidContent, "", "write(change('\"id\": 1,', '\"id\": ' + '1' * 1000000 + ','))"),
        .json("a text of 64 MB, unclosed", .invalidContent, "", "write(text.encode()[:200] + b'\"x\": \"' + b'x' * 64000000)"),
        .json(
            "a million unknown members", .invalidContent, "too many members",
            "write(b'{' + b','.join(b'\"m%d\": 0' % i for i in range(1000000)) + b'}')"),
        .json("a key of 32 MB", .invalidContent, "", "write(b'{\"' + b'k' * 32000000 + b'\": 1}')"),
        .json(
            "another app's export", .invalidContent, "Import failed: missing field metadata",
            "write(b'{\"version\": 1, \"entries\": [], \"goals\": []}')"),
        .json("a missing field", .invalidContent, "Import failed: ", "write(change('\"odometer\": 14950,', ''))"),
        .json(
            "a text for a number", .invalidContent, "odometer must be a whole number",
            "write(change('\"odometer\": 14950', '\"odometer\": \"14950\"'))"),
        .json(
            "a number that does not fit 64 bits", .invalidContent, "",
            "write(change('\"odometer\": 14950', '\"odometer\": 9223372036854775808'))"),
        .json("an amount that is none", .invalidContent, "cost", "write(change('\"12.50\"', '\"12,50\"'))"),
        .json("an unknown kind of charger", .invalidContent, "chargerType", "write(change('home7kW', 'fusion'))"),
        .json(
            "a date that does not exist", .invalidContent, "date", "write(change('2026-01-10T18:30:00Z', '2026-02-30T18:30:00Z'))"
        ),
        .json(
            "a reference to nothing", .invalidContent, "Import failed: expense 1 refers to unknown car 99",
            "write(change('\"carId\": 1\\n', '\"carId\": 99\\n'))"),
        .json(
            "version 0", .unsupportedVersion, "This backup is from an incompatible version of the app.",
            "write(change('\"databaseSchemaVersion\": 1', '\"databaseSchemaVersion\": 0'))"),
    ]
}
