import SystemIO
import TestSupport
import Testing

/// A photo library whose photos have hostile names and texts, and a backup of it, `one`.
enum PageLibrary {
    /// In `$P`. The names that a shell cannot write come from Python.
    private static let script = #"""
        import os, shutil, struct, subprocess, sys
        folder, base = sys.argv[1:3]
        def box(kind, content): return struct.pack(">I", 8 + len(content)) + kind + content
        # ISO 14496-12: a header of the movie, made 2024-05-06 07:08:09 UTC, and one track of pictures.
        header = box(b"mvhd", bytes(4) + struct.pack(">IIII", 1714979289 + 2082844800, 0, 600, 900) + bytes(80))
        matrix = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
        track = box(b"tkhd", bytes([0, 0, 0, 7]) + bytes(36) + matrix + struct.pack(">II", 1920 << 16, 1080 << 16))
        media = box(b"mdia", box(b"hdlr", bytes(8) + b"vide" + bytes(13)))
        movie = box(b"moov", header + box(b"trak", track + media))
        open(folder + "/clip.mov", "wb").write(box(b"ftyp", b"qt  " + bytes(4) + b"qt  ") + movie)
        open(folder + "/broken.jpg", "wb").write(b"\377\330\377\340 no picture")
        photos = [
            (b"<script>alert(1)<", "2024:06:30 23:59:00", ["-Title=</figure><script>alert(2)</script>", "-Rating=4"]),
            (b"a\"b'c&amp;.jpg", "2024:06:30 10:00:00", ["-OffsetTimeOriginal=+09:00", "-Make=Canon", "-Model=Canon EOS <R5>"]),
            (b"invalid \377\376.jpg", "2024:01:02 03:04:05", ["-Description=\" onload=\"alert(3)\nsecond line"]),
            ("evil\u202egpj.exe.jpg".encode(), "2023:12:31 23:59:59", ["-Description=\u0634\u0631\u0642", "-Title=Ufer"]),
            (b"two\nlines.jpg", "2023:12:31 00:00:00", []),
            ("Αθήνα Москва مرحبا.jpg".encode(), "1969:07:20 20:17:40", []),
            (b"undated.jpg", None, []),
        ]
        for number, (name, date, tags) in enumerate(photos):
            subprocess.run(["vips", "black", base + ".v", str(300 + number), str(200 + number)], check=True)
            subprocess.run(["vips", "gaussnoise", base + ".v", str(300 + number), str(200 + number)], check=True)
            subprocess.run(["vips", "cast", base + ".v", base + ".u.v", "uchar"], check=True)
            subprocess.run(["vips", "copy", base + ".u.v", base + ".jpg"], check=True)
            tags = tags + (["-DateTimeOriginal=" + date] if date else [])
            if tags: subprocess.run(["exiftool", "-q", "-overwrite_original", *tags, base + ".jpg"], check=True)
            os.makedirs(folder + "/trip", exist_ok=True)
            shutil.move(base + ".jpg", os.fsencode(folder) + b"/trip/" + name)
        """#

    static func emptySandbox() throws -> Sandbox {
        let path = try TemporaryFolder.make((Machine.environment("TMPDIR") ?? "/tmp") + "/backupfs-pages")
        return try Sandbox(
            at: path, variables: ["HOME": path, "P": "\(path)/Photos"], shellOptions: "-eu -o pipefail", removesItself: true)
    }

    static func make() throws -> Sandbox {
        let sandbox = try emptySandbox()
        try sandbox.write(script, to: "library.py")
        try sandbox.sh(
            """
            mkdir $P; python3 $R/library.py $P $R/work
            backupfs init --store $S --app photo-library --media $P >/dev/null; wait_settled $P
            cd $P; backupfs star trip/two*lines.jpg --no-wait --store $S >/dev/null; cd $R
            backupfs backup --store $S --label one >/dev/null; backupfs restore one --store $S --target $R/one >/dev/null
            """)
        return sandbox
    }
}
