import Glibc
import SystemIO
import TestSupport
import Testing

/// `backupfs serve` by curl and Python, through the mount.
struct ServeTests {
    /// Starts the server and gives scripts `$U`, its address, and `$K`, the token.
    private static func serving(_ prepare: String = "", _ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
            try sandbox.sh(
                """
                backupfs init --store $S --app $R/diary.yaml; cd $S/app/photos; mkdir 2024; printf two > 2024/two.jpg; printf one > one.jpg
                sqlite3 $S/app/database.sqlite "insert into photos values (1, 'one.jpg', 'first'), (2, '2024/two.jpg', null)"
                \(prepare)
                backupfs backup --store $S --label one
                """)
            try sandbox.mount()
            let job = try sandbox.start("exec backupfs serve --http 127.0.0.1:0 --store $S > $R/address")
            defer { job.send(SIGTERM) }
            try sandbox.sh("wait_until [ -s $R/address ]")
            let line = try sandbox.sh("cat $R/address")
            let parts = line.split(separator: "?token=")
            try #require(parts.count == 2, "\(line)")
            sandbox.variables["U"] = String(parts[0].dropLast())
            sandbox.variables["K"] = String(parts[1])
            sandbox.variables["P"] = "\(job.process)"
            sandbox.variables["CURL_HOME"] = sandbox.path
            try sandbox.write("silent\nshow-error\nmax-time = 60\n", to: ".curlrc")
            try body(sandbox)
            try sandbox.unmountStore()
        }
    }

    @Test func `every file of the tree comes as it is in the mount`() throws {
        try Self.serving { sandbox in
            let result = try sandbox.python(
                #"""
                import urllib.request, urllib.parse
                U, K = os.environ["U"], os.environ["K"]
                def get(path, **headers):
                    address = U + urllib.parse.quote(path)
                    return urllib.request.urlopen(urllib.request.Request(address, headers={"Authorization": "Bearer " + K, **headers}))
                files = folders = 0
                for folder, _, names in os.walk(M.encode()):
                    relative = folder[len(M.encode()):]
                    if relative.startswith(b"/control") or relative.startswith(b"/restore"): continue
                    folders += 1
                    page = get(relative + b"/?list" if not relative else relative + b"/").read() if relative else urllib.request.urlopen(
                        urllib.request.Request(U + "/?list", headers={"Authorization": "Bearer " + K})).read()
                    for name in names:
                        path = folder + b"/" + name
                        # What is made when it is read differs from time to time.
                        if os.path.islink(path) or relative.startswith(b"/live") or relative == b"": continue
                        answer = get(relative + b"/" + name)
                        data = answer.read()
                        assert data == open(path, "rb").read(), path
                        assert int(answer.headers["Content-Length"]) == len(data)
                        files += 1
                        if len(data) > 10:
                            answer = get(relative + b"/" + name, Range="bytes=3-8")
                            assert (answer.status, answer.read()) == (206, data[3:9])
                print(files > 15, folders > 20, files, folders)
                """#)
            #expect(result.hasPrefix("True True"), "\(result)")
        }
    }

    @Test func `nothing is shown without the token, and nothing can be changed`() throws {
        try Self.serving { sandbox in
            #expect(
                try sandbox.sh(
                    """
                    code() { curl -o $R/body -w '%{http_code} ' "$@"; }
                    code $U/; code $U/snapshots/; code "$U/?token=wrong"; code -H 'Authorization: Bearer x' $U/; code -X PROPFIND -H 'Depth: 1' $U/
                    for method in PUT POST DELETE MKCOL MOVE COPY PROPPATCH LOCK PATCH; do code -u me:$K -X $method -d x $U/snapshots/one; done
                    code -u me:$K $U/; code -b "backupfs-$(printf %s $K | sha256sum | head -c 12)=$K" $U/; code -H "Authorization: Bearer $K" $U/
                    """) == "401 401 401 401 401 405 405 405 405 405 405 405 405 405 200 200 200 ")
            #expect(try sandbox.sh("ls $M/snapshots; grep -c '</html>' $R/body") == "latest\none\n1")
            // A browser gets a cookie for the token, and an address without it.
            let head = try sandbox.sh("curl -D - -o /dev/null \"$U/snapshots/?token=$K\" | tr -d '\\r'")
            #expect(head.contains("303 See Other") && head.contains("Location: /snapshots/\n"), "\(head)")
            #expect(
                head.contains("=\(sandbox.variables["K"] ?? ""); Path=/; HttpOnly; SameSite=Lax"))
            #expect(try sandbox.sh("curl -L -c $R/jar \"$U/snapshots/one/?token=$K\" | grep -c export.json") == "1")
            // Not to another host.
            #expect(
                try sandbox.sh("curl -D - -o /dev/null \"$U//evil.example/?token=$K\" | tr -d '\\r' | grep Location")
                    == "Location: /evil.example/")
        }
    }

    @Test func `what a page among the app's files says is not run, and a link leads to nothing outside`() throws {
        let prepare = """
            cd $S/app/photos; printf '<script>alert(1)</script>' > evil.html; printf '<svg xmlns="http://www.w3.org/2000/svg"/>' > evil.svg
            ln -s /etc/passwd outside; ln -s ../../../../../../etc/passwd further; ln -s evil.svg inside; ln -s loop loop
            mkdir $'bad-\\xff<&"'; printf bytes > $'bad-\\xff<&"/line\\nfeed'
            """
        try Self.serving(prepare) { sandbox in
            let head = try sandbox.sh("curl -u me:$K -D - $U/snapshots/one/media/evil.html | tr -d '\\r'")
            #expect(
                head.contains("Content-Type: text/plain; charset=utf-8\n") && head.contains("X-Content-Type-Options: nosniff\n"),
                "\(head)")
            #expect(head.contains("Content-Security-Policy: default-src 'none'") && head.contains("sandbox"), "\(head)")
            #expect(
                try sandbox.sh(
                    """
                    for name in outside further loop nothing inside/ evil.html/ ../one %2e%2e/x inside evil.svg; do
                        curl --path-as-is -u me:$K -o $R/body -w '%{http_code} ' $U/snapshots/one/media/$name
                    done; cmp $R/body $S/app/photos/evil.svg
                    """) == "404 404 404 404 404 404 400 400 200 200 ")
            // Names are shown, and lead to what they name.
            let page = try sandbox.sh("curl -u me:$K $U/snapshots/one/media/")
            #expect(page.contains("href=\"./bad-%FF%3C%26%22/\"") && !page.contains("<&") && !page.contains("outside"), "\(page)")
            #expect(
                try sandbox.sh("curl -u me:$K '\(sandbox.variables["U"] ?? "")/snapshots/one/media/bad-%FF%3C%26%22/line%0Afeed'")
                    == "bytes")
            let redirect = try sandbox.sh("curl -u me:$K -D - $U/snapshots/latest | tr -d '\\r' | grep -E '^(HTTP|Location)'")
            #expect(redirect == "HTTP/1.1 301 Moved Permanently\nLocation: /snapshots/latest/")
            #expect(try sandbox.sh("curl -u me:$K $U/snapshots/latest/media/inside") == sandbox.sh("cat $S/app/photos/evil.svg"))
        }
    }

    @Test func `WebDAV: the properties are those of the files`() throws {
        try Self.serving("printf x > $S/app/photos/$'a\\x01&<b'") { sandbox in
            let result = try sandbox.python(
                #"""
                import urllib.request, urllib.parse, urllib.error, xml.etree.ElementTree as ET, email.utils
                U, K = os.environ["U"], os.environ["K"]
                def ask(path, method="PROPFIND", **headers):
                    request = urllib.request.Request(U + path, method=method, headers={"Authorization": "Bearer " + K, **headers})
                    return urllib.request.urlopen(request)
                def properties(path, depth="1"):
                    answer = ask(path, Depth=depth)
                    assert answer.status == 207
                    found = {}
                    for one in ET.fromstring(answer.read()).iter("{DAV:}response"):
                        prop = one.find("{DAV:}propstat/{DAV:}prop")
                        found[one.find("{DAV:}href").text] = prop
                    return found
                count = 0
                for folder in ["/", "/snapshots/", "/snapshots/one/", "/snapshots/one/media/", "/exports/"]:
                    found = properties(folder)
                    names = [name for name in os.listdir(os.fsencode(M + folder))]
                    assert len(found) == len(names) + 1, (folder, len(found), len(names))
                    assert found[folder].find("{DAV:}resourcetype/{DAV:}collection") is not None
                    for name in names:
                        status = os.stat(os.fsencode(M + folder) + name)
                        isFolder = os.path.isdir(os.fsencode(M + folder) + name)
                        prop = found[folder + urllib.parse.quote(name, safe="-._~") + ("/" if isFolder else "")]
                        time = email.utils.parsedate_to_datetime(prop.find("{DAV:}getlastmodified").text).timestamp()
                        if folder != "/": assert time == int(status.st_mtime), (name, time, status.st_mtime)
                        if not isFolder and folder != "/": assert int(prop.find("{DAV:}getcontentlength").text) == status.st_size, name
                        count += 1
                assert list(properties("/snapshots/one/export.json", "0")) == ["/snapshots/one/export.json"]
                for depth in ["infinity", None]:
                    try: ask("/", **({"Depth": depth} if depth else {})); assert False
                    except urllib.error.HTTPError as error: assert error.code == 403 and b"propfind-finite-depth" in error.read()
                options = ask("/", "OPTIONS")
                print(count > 30, options.headers["DAV"], options.headers["Allow"])
                """#)
            #expect(result == "True 1 OPTIONS, GET, HEAD, PROPFIND")
        }
    }

    @Test func `a file that did not change is not sent again, and HEAD sends none`() throws {
        try Self.serving { sandbox in
            let told = try sandbox.sh(
                """
                F=$U/snapshots/one/export.json; tag=$(curl -u me:$K -D - -o /dev/null $F | tr -d '\\r' | sed -n 's/^ETag: //p')
                ask() { curl -u me:$K -o $R/body -w '%{http_code} %{size_download}\\n' "$@" $F; }
                size=$(stat -c %s $M/snapshots/one/export.json)
                ask -H "If-None-Match: $tag"; ask -H "If-None-Match: W/$tag, \\"x\\""; ask -H 'If-None-Match: "x"' | sed "s/ $size/ all/"
                ask -H 'Range: bytes=0-4' -H "If-Range: $tag"; ask -H 'Range: bytes=0-4' -H 'If-Range: "x"' | sed "s/ $size/ all/"
                ask -H 'Range: bytes=999999999-'; curl -u me:$K -I $F | tr -d '\\r' | sed -n "s/^Content-Length: $size/head/p"
                """)
            #expect(told == "304 0\n304 0\n200 all\n206 5\n200 all\n416 0\nhead")
        }
    }

    /// A program that synchronizes must not take an unmounted folder for one without backups.
    @Test func `an unmounted tree is unavailable, not empty, and comes back`() throws {
        try Self.serving { sandbox in
            let ask =
                "for m in GET PROPFIND; do curl -u me:$K -X $m -H 'Depth: 1' -o /dev/null -w '%{http_code} ' $U/snapshots/; done"
            #expect(try sandbox.sh(ask) == "200 207 ")
            try sandbox.sh("backupfs umount --store $S")
            #expect(try sandbox.sh(ask) == "503 503 ")
            try sandbox.mount()
            #expect(try sandbox.sh(ask) == "200 207 ")
        }
    }

    @Test func `a large file is sent while it is read, to several at once, in little memory`() throws {
        try Self.serving("head -c 300000000 /dev/urandom > $S/app/photos/large.bin") { sandbox in
            try sandbox.sh(
                """
                sum=$(sha256sum < $S/app/photos/large.bin)
                for i in 1 2 3; do (curl -u me:$K $U/snapshots/one/media/large.bin | sha256sum > $R/sum.$i) & done; wait
                for i in 1 2 3; do [ "$(cat $R/sum.$i)" = "$sum" ]; done
                # One that stops reading blocks no other.
                curl -u me:$K --limit-rate 1000 --max-time 30 -o /dev/null $U/snapshots/one/media/large.bin & slow=$!
                for i in $(seq 20); do curl -u me:$K -o /dev/null --fail $U/status.json; done; kill $slow
                """)
            let peak = try sandbox.sh("awk '/^VmHWM:/ { print $2 }' /proc/$P/status")
            #expect((Int(peak) ?? .max) < 150_000, "\(peak) kB")
        }
    }

    @Test func `what is sent that is no request ends the connection, not the server`() throws {
        try Self.serving { sandbox in
            try sandbox.python(
                #"""
                import socket
                host, port = os.environ["U"].split("/")[2].split(":")
                K = os.environ["K"]
                for data in [b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"\r\n" * 100, b"GET " + b"/a" * 50000 + b" HTTP/1.1\r\n\r\n",
                             b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10000 + b"\r\n", b"PUT / HTTP/1.1\r\nContent-Length: 100\r\n\r\nshort",
                             b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]:
                    with socket.create_connection((host, int(port)), timeout=20) as one:
                        one.sendall(data)
                        one.shutdown(socket.SHUT_WR)
                        try: one.recv(1 << 20)
                        except OSError: pass
                """#)
            #expect(try sandbox.sh("curl -u me:$K -o /dev/null -w '%{http_code}' $U/status.json") == "200")
        }
    }

    /// Without the token, what is sent costs little.
    @Test func `long headers are refused, and idle connections do not block other clients`() throws {
        try Self.serving { sandbox in
            let result = try sandbox.python(
                #"""
                import socket
                host, port = os.environ["U"].split("/")[2].split(":")
                def connect():
                    return socket.create_connection((host, int(port)), timeout=20)
                started = time.monotonic()
                answers = []
                for size in [1000, 40000, 200000]:
                    with connect() as one:
                        try: one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * size + b"\r\n\r\n")
                        except OSError: pass
                        try: answers.append(one.recv(20)[9:12])
                        except OSError: answers.append(b"end")
                idle = [connect() for number in range(300)]
                with connect() as one:
                    one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    answers.append(one.recv(20)[9:12])
                print(answers[0], answers[1] in (b"431", b"414", b"413", b"end"), answers[2] in (b"431", b"414", b"413", b"end"), answers[3], time.monotonic() - started < 15)
                """#)
            #expect(result == "b'401' True True b'401' True")
            let peak = try sandbox.sh("awk '/^VmHWM:/ { print $2 }' /proc/$P/status")
            #expect((Int(peak) ?? .max) < 100_000, "\(peak) kB")
        }
    }

    @Test func `storage that does not respond delays only those who ask for its files`() throws {
        try Self.serving { sandbox in
            let daemon = try #require(sandbox.daemons.first)
            kill(daemon, SIGSTOP)
            defer { kill(daemon, SIGCONT) }
            try sandbox.sh(
                """
                for i in $(seq 20); do curl -u me:$K -o /dev/null $U/status.json & done; wait_until '[ $(ls /proc/$P/task | wc -l) -gt 20 ]'
                [ "$(curl --max-time 5 -o /dev/null -w '%{http_code}' $U/)" = 401 ]
                [ "$(curl --max-time 5 -u me:$K -X OPTIONS -o /dev/null -w '%{http_code}' $U/)" = 200 ]
                kill -CONT \(daemon); wait
                [ "$(curl -u me:$K -o /dev/null -w '%{http_code}' $U/status.json)" = 200 ]
                """)
        }
    }

    @Test func `live files have no name for their content: they change within one second`() throws {
        try Self.serving { sandbox in
            for path in ["status.json", "index.html", "live/export.json", "snapshots/../live/export.json"] {
                let head = try sandbox.sh("curl --path-as-is -u me:$K -D - -o /dev/null $U/\(path)")
                #expect(!head.contains("ETag") && !head.contains("Last-Modified"), "\(path): \(head)")
            }
            // Nothing can be joined to a part of what was there before.
            #expect(
                try sandbox.sh(
                    "curl -u me:$K -H 'Range: bytes=0-4' -H 'If-Range: \"x\"' -o /dev/null -w '%{http_code}' $U/live/export.json")
                    == "200")
        }
    }

    @Test func `the command says what is in its way`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try sandbox.fails("backupfs serve --http 127.0.0.1:0 --store $S", saying: "the store is not mounted", exitCode: 1)
            try sandbox.mount()
            try sandbox.fails("backupfs serve --http 0.0.0.0:0 --store $S", saying: "nothing would be encrypted", exitCode: 2)
            try sandbox.fails("backupfs serve --http localhost:0 --unencrypted --store $S", saying: "usage", exitCode: 1)
            try sandbox.sh("echo short > $R/token")
            try sandbox.fails(
                "backupfs serve --http 127.0.0.1:0 --token-file $R/token --store $S", saying: "is no token", exitCode: 2)
            try sandbox.fails(
                "backupfs serve --http 127.0.0.1:0 --token-file $R/none --store $S", saying: "No such file", exitCode: 1)
            let result = try sandbox.run(
                """
                echo 0123456789abcdef > $R/token; backupfs serve --http '[::1]:0' --token-file $R/token --store $S > $R/address & server=$!
                wait_until [ -s $R/address ]; curl -s -o /dev/null -w '%{http_code} ' "$(sed 's/?.*//' $R/address)status.json" -u me:0123456789abcdef
                port=$(sed 's/.*\\]:\\([0-9]*\\).*/\\1/' $R/address); backupfs serve --http "[::1]:$port" --store $S; echo "exit $?"; kill $server; wait $server
                """)
            #expect(result.output.hasPrefix("200 exit 1"), "\(result)")
            try sandbox.unmountStore()
        }
    }
}
