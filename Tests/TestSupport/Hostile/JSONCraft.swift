/// Invalid exports.
enum JSONCraft {
    /// `text` is a good export; `change(old, new)` is one with a part of it replaced.
    static let prelude =
        "text = r'''\(SampleDocument.text)'''\n" + #"""
            def change(old, new):
                assert old in text, old
                return text.replace(old, new, 1).encode()

            """#
}
