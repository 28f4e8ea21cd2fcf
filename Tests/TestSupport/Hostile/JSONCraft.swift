/// Exports with something wrong in them.
enum JSONCraft {
    /// `text` is a good export; `change(old, new)` is one with a piece of it exchanged.
    static let prelude =
        "text = r'''\(SampleDocument.text)'''\n" + #"""
            def change(old, new):
                assert old in text, old
                return text.replace(old, new, 1).encode()

            """#
}
