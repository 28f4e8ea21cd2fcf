import TestSupport
import Testing

/// Random pairs of trees, against a walk of Python's own and `diff`.
struct ComparePropertyTests {
    private static let script = #"""
        import base64, json, os, random, shutil, stat, subprocess, sys
        root, seed = os.fsencode(sys.argv[1]), int(sys.argv[2])
        rng = random.Random(seed)
        NAMES = [b"a", b"b", b"A", b"a.b", b"a b", b".h", b"\xff\xfe", b"line\nfeed", "é".encode(), b"x" * 255, b"-", b"~", b"\\", b"\""]

        def fill(folder, depth):
            os.mkdir(folder)
            for name in rng.sample(NAMES, rng.randrange(0, 7)):
                path = os.path.join(folder, name)
                kind = rng.random()
                if kind < 0.25 and depth < 4: fill(path, depth + 1)
                elif kind < 0.33: os.symlink(rng.choice([b"a", b"..", b"/nowhere", b"\xff"]), path)
                elif kind < 0.37: os.mkfifo(path)
                else: write(path)

        def write(path):
            with open(path, "wb") as f: f.write(rng.choice([b"", b"1", b"2", b"12", bytes(5000), bytes(4999) + b"x"]))
            os.utime(path, (1.7e9, 1.7e9 + rng.choice([0, 0, 0, 1, 60])))

        def change(folder):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                what = rng.random()
                inner = os.path.isdir(path) and not os.path.islink(path)
                if what < 0.08: shutil.rmtree(path) if inner else os.unlink(path)
                elif what < 0.14:
                    other = os.path.join(folder, rng.choice(NAMES))
                    if not os.path.lexists(other): os.rename(path, other)
                elif what < 0.18 and not inner:
                    os.unlink(path)
                    fill(path, 3)
                elif inner: change(path)
                elif what < 0.5 and os.path.isfile(path) and not os.path.islink(path): write(path)
            if rng.random() < 0.2:
                path = os.path.join(folder, rng.choice(NAMES))
                if not os.path.lexists(path): write(path)

        def kind(path):
            mode = os.lstat(path).st_mode
            return {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "pipe"}[stat.S_IFMT(mode)]

        def walk(top, hidden):
            found = {}
            def visit(folder):
                for name in os.listdir(os.path.join(top, folder)):
                    if not hidden and name.startswith(b"."): continue
                    path = os.path.join(folder, name)
                    found[path] = kind(os.path.join(top, path))
                    if found[path] == "folder": visit(path)
            visit(b"")
            return found

        def read(path):
            with open(path, "rb") as f: return f.read()

        def expected(left, right, method, hidden):
            one, two = walk(left, hidden), walk(right, hidden)
            files = lambda tree: {p for p in tree if tree[p] != "folder"}
            folders = lambda tree: {p for p in tree if tree[p] == "folder"}
            result = {"onlyInSource": files(one) - files(two), "onlyInDestination": files(two) - files(one), "common": files(one) & files(two),
                      "foldersOnlyInSource": folders(one) - folders(two), "foldersOnlyInDestination": folders(two) - folders(one)}
            different = {(p, "kind") for p in one.keys() & two.keys() if one[p] != two[p]}
            times = set()
            for path in result["common"]:
                if one[path] != two[path]: continue
                a, b = os.path.join(left, path), os.path.join(right, path)
                if one[path] == "link" and os.readlink(a) != os.readlink(b): different.add((path, "target"))
                if one[path] != "file": continue
                x, y = os.lstat(a), os.lstat(b)
                late = abs(x.st_mtime - y.st_mtime) > 2
                if x.st_size != y.st_size: different.add((path, "size"))
                elif method == "size":
                    if late: different.add((path, "time"))
                elif read(a) != read(b): different.add((path, "content"))
                elif late: times.add(path)
            result["different"], result["otherTime"] = different, times
            def contents(top, paths, tree):
                by = {}
                for path in paths:
                    if tree[path] == "file" and os.lstat(os.path.join(top, path)).st_size > 0:
                        by.setdefault(read(os.path.join(top, path)), []).append(path)
                return by
            own, other = contents(left, result["onlyInSource"], one), contents(right, result["onlyInDestination"], two)
            result["moved"] = {tuple(pair) for data in own for pair in zip(sorted(own[data], key=key), sorted(other.get(data, []), key=key))}
            return result

        def key(path): return path.split(b"/")
        def path(value): return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])

        left, right = os.path.join(root, b"l"), os.path.join(root, b"r")
        for round in range(int(sys.argv[3])):
            for side in (left, right):
                if os.path.lexists(side): shutil.rmtree(side)
            fill(left, 0)
            subprocess.run(["cp", "-a", left, right], check=True)
            if rng.random() < 0.9: change(right)
            hidden = rng.random() < 0.5
            for method in ("size", "checksum", "bytes"):
                command = ["backupfs", "compare", left, right, "--json"] + ([] if method == "size" else ["--" + method]) + (["--hidden"] if hidden else [])
                run = subprocess.run(command, capture_output=True, timeout=60)
                document = json.loads(run.stdout)
                want = expected(left, right, method, hidden)
                for name in ("onlyInSource", "onlyInDestination", "common", "foldersOnlyInSource", "foldersOnlyInDestination"):
                    have = [path(value) for value in document[name]]
                    assert set(have) == want[name] and len(have) == len(want[name]), (seed, round, method, name, have, want[name])
                    assert have == sorted(have, key=key), (seed, round, name, have)
                assert {(path(e["path"]), e["difference"]) for e in document["different"]} == want["different"], (seed, round, method, document["different"], want["different"])
                assert {path(e["path"]) for e in document["otherTime"]} == want["otherTime"], (seed, round, method)
                assert {(path(e["source"]), path(e["destination"])) for e in document["moved"]} == want["moved"], (seed, round, method, document["moved"], want["moved"])
                assert not document["unreadable"] and document["complete"]
                equal = not any(want[name] for name in want if name not in ("common", "otherTime", "moved"))
                assert document["equal"] == equal and run.returncode == (0 if equal else 1), (seed, round, method, run.returncode)
                if method == "bytes" and hidden:
                    pipes = any(kind(os.path.join(d, f)) == "pipe" for top in (left, right) for d, _, fs in os.walk(top) for f in fs)
                    if not pipes:
                        diff = subprocess.run(["diff", "-rq", "--no-dereference", left, right], capture_output=True)
                        assert (diff.returncode == 0) == equal, (seed, round, diff.stdout)
        print("all right")
        """#

    @Test(arguments: 0..<4)
    func `random pairs of trees differ as Python and diff say`(seed: Int) throws {
        let sandbox = try CopySandbox.make()
        try sandbox.write(Self.script, to: "pairs.py")
        #expect(try sandbox.sh("python3 $R/pairs.py $R \(seed) 25") == "all right")
    }
}
