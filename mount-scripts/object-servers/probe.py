#!/usr/bin/env python3
"""Finds out what object servers promise: probe.py [--only WORD] [--disk-mebibytes N] SERVER...

SERVER is the name of a script in this folder, as seaweedfs. Each is started with a folder of its own, is asked with requests that botocore
signs, and ends. Prints a table in Markdown with a row for each question and a column for each server: the one in
Docs/explanation/object-storage-servers.md.

The question of the full disk mounts a small file system in memory, as root; 0 leaves it out.
"""

import argparse
import base64
import concurrent.futures
import datetime
import hashlib
import http.client
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
import urllib.parse
import xml.etree.ElementTree

import botocore.auth
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

HERE = os.path.dirname(os.path.realpath(__file__))
RACERS = 16
RACE_LIMIT_SECONDS = 30


class Signer(S3SigV4Auth):
    """With a hash of the body that may be a wrong one."""

    def __init__(self, keys, region, payload_hash):
        super().__init__(keys, "s3", region)
        self.payload_hash = payload_hash

    def payload(self, request):
        return self.payload_hash


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def code(self):
        found = re.search(rb"<Code>(.*?)</Code>", self.body)
        return found[1].decode() if found else ""

    @property
    def etag(self):
        return self.headers.get("etag")

    def __str__(self):
        return f"{self.status} {self.code}".strip()


class Server:
    def __init__(self, kind, folder):
        self.script, self.folder = os.path.join(HERE, kind + ".sh"), folder
        result = subprocess.run([self.script, "start", folder, "--until-end-of", str(os.getpid())], capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(result.stderr.strip().splitlines()[-1])
        self.values = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.host, port = self.values["endpoint"].split("//")[1].split(":")
        self.port = int(port)
        self.bucket = "probe"
        self.kept = None
        self.quotes = True
        assert self.send("PUT").status == 200, "no bucket"

    def stop(self):
        subprocess.run([self.script, "stop", self.folder], check=True)

    def signed(self, method, key="", query="", headers=None, body=b"", payload_hash=None):
        path = f"/{self.bucket}" + (f"/{urllib.parse.quote(key, safe='/~')}" if key else "")
        url = f"{self.values['endpoint']}{path}" + (f"?{query}" if query else "")
        request = AWSRequest(method, url, headers or {}, body)
        keys = Credentials(self.values["access_key"], self.values["secret_key"])
        Signer(keys, self.values["region"], payload_hash or hashlib.sha256(body).hexdigest()).add_auth(request)
        return path + (f"?{query}" if query else ""), dict(request.headers.items())

    def send(self, method, key="", query="", headers=None, body=b"", payload_hash=None):
        target, signed = self.signed(method, key, query, headers, body, payload_hash)
        for _ in range(2):
            fresh = self.kept is None
            self.kept = self.kept or http.client.HTTPConnection(self.host, self.port, timeout=60)
            try:
                self.kept.request(method, target, body, signed)
                response = self.kept.getresponse()
                return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
            except (http.client.HTTPException, ConnectionError):
                self.kept.close()
                self.kept = None
                if fresh:
                    raise
        raise RuntimeError("unreachable")

    def exists(self, key):
        return self.send("HEAD", key).status == 200

    def if_match(self, key):
        etag = self.send("HEAD", key).etag
        return etag if self.quotes else etag.strip('"')

    def put(self, key, body=b"text", **headers):
        return self.send("PUT", key, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=body)

    def keys(self, **parameters):
        """All keys of one page, and whether there are more."""
        query = urllib.parse.urlencode({"list-type": 2, "encoding-type": "url", **parameters}, quote_via=urllib.parse.quote)
        # The order of a query's names is part of the signature in some servers.
        query = "&".join(sorted(query.split("&")))
        answer = self.send("GET", query=query)
        if answer.status != 200:
            raise RuntimeError(str(answer))
        tree = xml.etree.ElementTree.fromstring(answer.body)
        names = [element.text or "" for element in tree.iter() if element.tag.endswith("}Key") or element.tag == "Key"]
        encoded = any(element.tag.endswith("EncodingType") for element in tree.iter())
        more = next((element.text for element in tree.iter() if element.tag.endswith("IsTruncated")), "false") == "true"
        token = next((element.text for element in tree.iter() if element.tag.endswith("NextContinuationToken")), None)
        return [urllib.parse.unquote_plus(name) if encoded else name for name in names], more, token

    def race(self, key, bodies, headers):
        """Sends requests at the same moment: all but their last bytes first. Returns their statuses."""
        connections = []
        for body in bodies:
            target, signed = self.signed("PUT", key, headers=headers, body=body)
            head = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
            request = f"PUT {target} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body
            connection = socket.create_connection((self.host, self.port), timeout=60)
            connection.sendall(request[:-1])
            connections.append((connection, request[-1:]))
        for connection, last in connections:
            connection.sendall(last)

        def status(connection):
            response = http.client.HTTPResponse(connection)
            try:
                response.begin()
                response.read()
                return response.status
            except (http.client.HTTPException, OSError):
                return 0
            finally:
                connection.close()
        with concurrent.futures.ThreadPoolExecutor(RACERS) as pool:
            return list(pool.map(status, [connection for connection, _ in connections]))


def refused(answer, stored):
    return f"yes ({answer})" if answer.status >= 400 and not stored else f"refused ({answer}) but stored" if answer.status >= 400 \
        else "no" if stored else f"no ({answer}), and not stored"


# Each question is a function of the server; its first line is the row's head.

def version(server):
    """version"""
    return server.values["version"]


def create(server):
    """create with `If-None-Match: *`, the object exists: refused"""
    server.put("create", b"first")
    answer = server.put("create", b"second", If_None_Match="*")
    kept = server.send("GET", "create").body == b"first"
    return refused(answer, not kept) if answer.status != 412 or not kept else "yes (412)"


def create_race(server):
    """16 of these at the same moment, 50 rounds: one succeeds"""
    return race(server, 50, None)


def replace(server):
    """replace with `If-Match`: another ETag is refused, the right one accepted"""
    server.put("replace", b"first")
    wrong = server.put("replace", b"second", If_Match='"0123456789abcdef0123456789abcdef"')
    kept = server.send("GET", "replace").body == b"first"
    etag = server.send("HEAD", "replace").etag
    right = server.put("replace", b"third", If_Match=etag)
    note = ""
    if right.status == 412:
        note = f"; the right one in its quotes, too ({right})"
        # Ceph compares the header with the ETag as it keeps it.
        server.quotes = False
        right = server.put("replace", b"third", If_Match=server.if_match("replace"))
    missing = server.put("replace-missing", b"x", If_Match=etag)
    if kept and wrong.status == 412 and right.status == 200:
        return f"yes (412){note}; without an object {missing}"
    return f"no: another ETag {wrong}, the right one {right}"


def replace_race(server):
    """16 of these with the right ETag at the same moment, 50 rounds: one succeeds"""
    return race(server, 50, "first")


def race(server, rounds, first):
    counts, wrong_content, seconds = [], 0, []
    begin = time.monotonic()
    while len(counts) < rounds and time.monotonic() - begin < RACE_LIMIT_SECONDS:
        number = len(counts)
        key = f"race-{'replace' if first else 'create'}/{number}"
        headers = {"If-None-Match": "*"}
        if first:
            server.put(key, first.encode())
            headers = {"If-Match": server.if_match(key)}
        bodies = [f"body {racer} of {number}".encode() for racer in range(RACERS)]
        start = time.monotonic()
        statuses = server.race(key, bodies, headers)
        seconds.append(time.monotonic() - start)
        winners = [body for body, status in zip(bodies, statuses) if status == 200]
        counts.append(len(winners))
        if not winners:
            continue
        try:
            wrong_content += server.send("GET", key).body not in winners
        except http.client.IncompleteRead:
            server.kept = None
            wrong_content += 1
    bad = sum(count != 1 for count in counts)
    content = f"; in {wrong_content} rounds the content is that of none that succeeded" if wrong_content else ""
    slow = f"; a round takes {statistics.median(seconds):.1f} s, {len(counts)} rounds" if len(counts) < rounds else ""
    return ("yes" if not bad else f"no: in {bad} of {len(counts)} rounds {min(c for c in counts if c != 1)} to {max(counts)}") + content + slow


def remove(server):
    """remove with `If-Match`: another ETag is refused, the right one accepted"""
    server.put("remove", b"first")
    wrong = server.send("DELETE", "remove", headers={"If-Match": '"0123456789abcdef0123456789abcdef"'})
    kept = server.exists("remove")
    server.put("remove", b"first")
    right = server.send("DELETE", "remove", headers={"If-Match": server.if_match("remove")})
    gone = not server.exists("remove")
    if kept and gone:
        return f"yes ({wrong.status})"
    return f"no: another ETag removes it ({wrong.status})" if not kept else f"no: the right ETag {right}"


def remove_missing(server):
    """remove what does not exist"""
    return str(server.send("DELETE", "was-never-there"))


def ranged(server):
    """a range is answered with 206 and these bytes alone; past the end: 416"""
    server.put("range", b"0123456789")
    inside = server.send("GET", "range", headers={"Range": "bytes=2-4"})
    past = server.send("GET", "range", headers={"Range": "bytes=10-12"})
    right = inside.body == b"234" and inside.headers.get("content-range") == "bytes 2-4/10"
    return (f"yes ({inside.status})" if right and inside.status == 206 else f"{inside.status} and {'these' if right else 'other'} bytes") \
        + f"; {past.status}"


def ranged_condition(server):
    """a read with `If-Match` and another ETag is refused"""
    server.put("range", b"0123456789")
    answer = server.send("GET", "range", headers={"Range": "bytes=2-4", "If-Match": '"0123456789abcdef0123456789abcdef"'})
    return "yes (412)" if answer.status == 412 else f"no: {answer.status}"


def list_after_write(server):
    """a listing shows what was just stored, and not what was just removed (100 objects)"""
    late = stale = 0
    for number in range(100):
        key = f"listed/{number:03}"
        server.put(key)
        late += key not in server.keys(prefix="listed/")[0]
    for number in range(100):
        key = f"listed/{number:03}"
        server.send("DELETE", key)
        stale += key in server.keys(prefix="listed/")[0]
    return "yes" if not late + stale else f"no: {late} late, {stale} stale"


def start_after(server):
    """`start-after` and pages: all keys once, in the order of their bytes"""
    names = sorted([f"page/{letter}{number}" for letter in "aZ-é~" for number in range(20)], key=str.encode)
    for name in names:
        server.put(name)
    after = server.keys(prefix="page/", **{"start-after": names[10]})[0]
    pages, token, rounds = [], None, 0
    while rounds < 100:
        rounds += 1
        page, more, token = server.keys(prefix="page/", **{"max-keys": 7}, **({"continuation-token": token} if token else {}))
        pages += page
        if not more or not token:
            break
    faults = []
    if after != names[11:]:
        faults.append("start-after is wrong" if sorted(after) != sorted(names[11:]) else "another order after start-after")
    if pages != names:
        faults.append("another order" if sorted(pages) == sorted(names) else f"{len(set(pages))} of {len(names)} keys in pages")
    return "yes" if not faults else "no: " + ", ".join(faults)


def wrong_md5(server):
    """a wrong `Content-MD5` is refused"""
    answer = server.put("md5", b"text", Content_MD5=base64.b64encode(hashlib.md5(b"other").digest()).decode())
    return refused(answer, server.exists("md5"))


def wrong_payload_hash(server):
    """a wrong `x-amz-content-sha256` is refused"""
    answer = server.send("PUT", "sha", body=b"text", payload_hash=hashlib.sha256(b"other").hexdigest())
    return refused(answer, server.exists("sha"))


def wrong_checksum(server):
    """a wrong `x-amz-checksum-sha256` is refused"""
    answer = server.put("checksum", b"text", x_amz_checksum_sha256=base64.b64encode(hashlib.sha256(b"other").digest()).decode())
    return refused(answer, server.exists("checksum"))


def kept_checksum(server):
    """a right `x-amz-checksum-sha256` is kept and answered"""
    digest = base64.b64encode(hashlib.sha256(b"text").digest()).decode()
    server.put("kept", b"text", x_amz_checksum_sha256=digest)
    answer = server.send("HEAD", "kept", headers={"x-amz-checksum-mode": "ENABLED"})
    return "yes" if answer.headers.get("x-amz-checksum-sha256") == digest else "no"


def unsigned_payload(server):
    """`UNSIGNED-PAYLOAD` is accepted"""
    answer = server.send("PUT", "unsigned", body=b"text", payload_hash="UNSIGNED-PAYLOAD")
    return "yes" if answer.status == 200 else f"no ({answer})"


def etag_is_md5(server):
    """the ETag of an object stored by one request is its MD5"""
    server.put("etag", b"text")
    etag = (server.send("HEAD", "etag").etag or "").strip('"')
    return "yes" if etag == hashlib.md5(b"text").hexdigest() else f"no: {etag[:40] or 'none'}"


def new_etag(server):
    """the same bytes stored twice have one ETag"""
    first = server.put("etag-twice", b"text") and server.send("HEAD", "etag-twice").etag
    time.sleep(1.1)
    second = server.put("etag-twice", b"text") and server.send("HEAD", "etag-twice").etag
    return "yes" if first == second else "no"


def metadata(server):
    """`x-amz-meta-` headers are kept"""
    server.put("meta", b"text", x_amz_meta_name="value")
    return "yes" if server.send("HEAD", "meta").headers.get("x-amz-meta-name") == "value" else "no"


def cut_upload(server):
    """an upload that breaks off stores nothing"""
    body = b"x" * 100_000
    target, signed = server.signed("PUT", "broken", body=body)
    head = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
    connection = socket.create_connection((server.host, server.port), timeout=60)
    connection.sendall(f"PUT {target} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body[:50_000])
    connection.close()
    time.sleep(1)
    return "yes" if not server.exists("broken") else f"no: {server.send('HEAD', 'broken').headers.get('content-length')} bytes are stored"


def multipart(server):
    """multipart upload of 5 MiB + 1 byte; with `If-None-Match: *` over an object: refused"""
    parts = [b"a" * (5 << 20), b"b"]

    def upload(key, headers):
        started = server.send("POST", key, "uploads=")
        found = re.search(rb"<UploadId>(.*?)</UploadId>", started.body)
        if not found:
            return started
        upload_id = urllib.parse.quote(found[1].decode(), safe="")
        etags = [server.send("PUT", key, f"partNumber={number}&uploadId={upload_id}", body=part).etag
                 for number, part in enumerate(parts, 1)]
        document = "<CompleteMultipartUpload>" + "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in enumerate(etags, 1)
        ) + "</CompleteMultipartUpload>"
        answer = server.send("POST", key, f"uploadId={upload_id}", headers, document.encode())
        if answer.code:
            server.send("DELETE", key, f"uploadId={upload_id}")
        return answer
    plain = upload("multipart", {})
    works = plain.status == 200 and not plain.code and server.send("GET", "multipart").body == b"".join(parts)
    server.put("multipart-over", b"first")
    over = upload("multipart-over", {"If-None-Match": "*"})
    kept = server.send("GET", "multipart-over").body == b"first"
    return ("works" if works else f"fails ({plain})") + (f"; refused ({over})" if kept else f"; not refused ({over.status})")


ODD_KEYS = {
    "a space": "odd/a b", "`+`": "odd/a+b", "`%`": "odd/a%20b", "`&<>\"`": "odd/a&<>\"b", "NFC": "odd/" + unicodedata.normalize("NFC", "é"),
    "NFD": "odd/" + unicodedata.normalize("NFD", "é"), "a trailing dot": "odd/name.", "a trailing space": "odd/name ",
    "a leading space": "odd/ name", "`\\`": "odd/a\\b", "`?#`": "odd/a?b#c", "`~!*'()`": "odd/~!*'()", "`:@=;,$`": "odd/a:@=;,$b",
    "an emoji": "odd/\U0001f4be", "a leading dot": "odd/.name", "upper and lower case": "odd/NAME",
    "a component of 255 bytes": "odd/" + "n" * 255, "900 bytes": "odd/" + "/".join("d" * 127 for _ in range(7)),
}


def odd_keys(server):
    """odd keys are stored, listed and read as they are"""
    wrong = []
    server.put("odd/name", b"other")
    for name, key in ODD_KEYS.items():
        try:
            stored = server.put(key, key.encode())
            if stored.status != 200:
                wrong.append(f"{name} ({stored})")
            elif server.send("GET", key).body != key.encode():
                wrong.append(f"{name} (reading)")
            elif key not in server.keys(prefix=key)[0]:
                wrong.append(f"{name} (listing)")
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(f"{name} ({type(error).__name__})")
    return "yes" if not wrong else "not: " + ", ".join(wrong)


def key_below_key(server):
    """`a` and `a/b` can both be objects"""
    one, two = server.put("nested/a", b"one"), server.put("nested/a/b", b"two")
    good = server.send("GET", "nested/a").body == b"one" and server.send("GET", "nested/a/b").body == b"two"
    listed = sorted(server.keys(prefix="nested/")[0])
    if good and listed == ["nested/a", "nested/a/b"]:
        return "yes"
    return f"no: {one}, {two}" + (f"; listed: {', '.join(listed)}" if good else "")


def old_signature(server):
    """a signature that is 20 minutes old is refused"""
    original = botocore.auth.get_current_datetime
    botocore.auth.get_current_datetime = lambda: original() - datetime.timedelta(minutes=20)
    try:
        answer = server.put("old")
    finally:
        botocore.auth.get_current_datetime = original
    return f"yes ({answer})" if answer.status >= 400 else f"no ({answer})"


def speed(server):
    """median of 100 requests, in ms: store 1 KiB, read it, list 100"""
    body = os.urandom(1024)

    def median(call):
        times = []
        for number in range(100):
            start = time.perf_counter()
            call(number)
            times.append(time.perf_counter() - start)
        return f"{statistics.median(times) * 1000:.1f}"
    return ", ".join([median(lambda n: server.put(f"speed/{n}", body)), median(lambda n: server.send("GET", f"speed/{n}")),
                      median(lambda n: server.keys(prefix="speed/"))])


QUESTIONS = [version, create, create_race, replace, replace_race, remove, remove_missing, ranged, ranged_condition, list_after_write, start_after,
             wrong_md5, wrong_payload_hash, wrong_checksum, kept_checksum, unsigned_payload, etag_is_md5, new_etag, metadata, cut_upload,
             multipart, odd_keys, key_below_key, old_signature, speed]
FULL_DISK = "a full disk answers; what was stored before can be read; after a removal there is room again"


def full_disk(kind, mebibytes):
    """Stores objects of 4 MiB in a file system of this size until one is refused."""
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "probe", folder], check=True)
        server = None
        try:
            server = Server(kind, os.path.join(folder, "s"))
            bodies, answer = [], None
            while len(bodies) < mebibytes // 2:
                body = os.urandom(4 << 20)
                try:
                    answer = server.put(f"full/{len(bodies)}", body)
                except OSError as error:
                    answer = type(error).__name__
                if not isinstance(answer, Answer) or answer.status != 200:
                    break
                bodies.append(hashlib.sha256(body).digest())
            else:
                return "never full"
            good = sum(hashlib.sha256(server.send("GET", f"full/{number}").body).digest() == digest for number, digest in enumerate(bodies))
            for number in range(len(bodies)):
                server.send("DELETE", f"full/{number}")
            room = False
            for _ in range(20):
                room = server.put("full/again", os.urandom(4 << 20)).status == 200
                if room:
                    break
                time.sleep(0.5)
            return f"{answer} after {len(bodies) * 4} MiB; {'all' if good == len(bodies) else f'{good} of {len(bodies)}'} read; " \
                + ("room again" if room else "no room within 10 s")
        finally:
            if server:
                server.stop()
            subprocess.run(["umount", "-l", folder], check=True)


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:  # pylint: disable=broad-except
        return f"failed: {type(error).__name__}: {str(error)[:120]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="questions whose names contain this")
    parser.add_argument("--disk-mebibytes", type=int, default=0)
    parser.add_argument("servers", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    columns = {}
    questions = [question for question in QUESTIONS if options.only in question.__name__]
    for kind in options.servers:
        rows = columns[kind] = {}
        with tempfile.TemporaryDirectory(prefix="probe-") as folder:
            server = attempt(Server, kind, os.path.join(folder, "s"))
            if isinstance(server, str):
                print(f"{kind}: {server}", file=sys.stderr)
                del columns[kind]
                continue
            try:
                for question in questions:
                    head = question.__doc__
                    rows[head] = attempt(question, server)
                    print(f"{kind}: {head}: {rows[head]}", file=sys.stderr)
            finally:
                server.stop()
        if options.disk_mebibytes:
            rows[FULL_DISK] = attempt(full_disk, kind, options.disk_mebibytes)
            print(f"{kind}: {FULL_DISK}: {rows[FULL_DISK]}", file=sys.stderr)
    print("| |", " | ".join(columns), "|")
    print("| --- |" + " --- |" * len(columns))
    for head in dict.fromkeys(head for rows in columns.values() for head in rows):
        print(f"| {head} |", " | ".join(rows.get(head, "").replace("|", "\\|") for rows in columns.values()), "|")


main()
