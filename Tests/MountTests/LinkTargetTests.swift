import TestSupport
import Testing

/// Symbolic links whose targets change: the kernel keeps a target only as that of the link that had it.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LinkTargetTests {
    /// Points a link to one target after another, also of the same length, and reads each of them several times.
    private static let turns = """
        def turn(link, seen):
            numbers = set()
            for number in range(12):
                target = f"photo-{number % 3}" if number % 2 else "one.jpg"
                try: os.unlink(link)
                except FileNotFoundError: pass
                os.symlink(target, link)
                for again in range(3):
                    assert os.readlink(seen) == target, (os.readlink(seen), target)
                    assert os.lstat(seen).st_size == len(target)
                    assert [each.name for each in os.scandir(os.path.dirname(seen)) if each.is_symlink()] == [os.path.basename(seen)]
                numbers.add(os.lstat(seen).st_ino)
            print(len(numbers))

        """

    @Test func `a link of the media folder`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(
                Self.turns + """
                    P = os.environ["P"]
                    turn(P + "/link", M + "/live/media/link")
                    os.symlink("link", P + "/through"); os.unlink(P + "/link"); os.symlink("one.jpg", P + "/link")
                    print(read(M + "/live/media/through"))
                    os.unlink(P + "/link"); os.symlink("2024/two.jpg", P + "/link")
                    print(read(M + "/live/media/through"))
                    """)
            #expect(result == "1\nb'one'\nb'two'")
        }
    }

    @Test func `a link of a set, which another program changes at the destination`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.mount(CopySetTests.soon)
            let result = try sandbox.python(
                Self.turns + """
                    turn(R + "/a/link", M + "/copy/cards/link")
                    # Older kernels cut a target that they keep off at the length of the link.
                    held = os.open(M + "/copy/cards/link", os.O_PATH | os.O_NOFOLLOW)
                    target = os.readlink("", dir_fd=held)
                    os.unlink(R + "/a/link"); os.symlink("x", R + "/a/link")
                    assert os.readlink(M + "/copy/cards/link") == "x"
                    print(os.readlink("", dir_fd=held) == target, os.fstat(held).st_size == len(target))
                    """)
            #expect(result == "1\nTrue True")
            try sandbox.unmount()
        }
    }
}
