#!/usr/bin/env python3
"""A proxy between a client and an object server that makes faults happen.

fault-proxy.py TARGET CONTROL_SOCKET [PROCESS] [--namespace FILE] [--certificate FILE]

It listens on a free port of 127.0.0.1, forwards HTTP/1.1 to TARGET, which is HOST:PORT, byte by byte and with kept connections, and
prints {"port": N} once it listens. With PROCESS it ends when that process has ended. --namespace: it listens on all addresses of that
network namespace instead, which /proc has as a file. --certificate: it listens with TLS; the file has a certificate and its key in PEM.

CONTROL_SOCKET is a Unix socket. Each line sent to it is a JSON object, and each gets one line as its answer; with "fields": true, for
clients that do not read JSON, it gets lines of fields with tabs between them, and an empty line after the last:

  {"do": "set", "faults": [FAULT, ...]}   these instead of all there were; counting of matches begins again
  {"do": "refuse", "on": true}            close all connections and refuse new ones; false: listen again, on the same port
  {"do": "release"}                       let go what stalls: its connection is closed
  {"do": "counters"}                      connections, requests, requests by method, faults applied
  {"do": "log"}                           all requests since the last reset; "status" is what the client got, null for nothing, and
                                          "connection" the number of the client's connection
  {"do": "reset"}                         forget the log and the counters
  {"do": "wait", "fault": ACTION, "count": N, "seconds": S}   answer when N faults of this action were applied, or S seconds have passed

FAULT: {"action": ACTION, "method": "PUT", "path": REGULAR_EXPRESSION, "nth": 1, "times": 1, ...}
Method and path (as sent, with the query) choose requests; the fault applies to the nth that fits and to those after it, `times` in all,
0 for ever. Of several that fit, all apply, the first of each action.

  delay           seconds: before the request is forwarded
  reset           close the connection when the request's head has arrived, without an answer
  answer          status, headers, and code, for an error of S3, or body: instead of the server's answer. The body comes `repeat` times;
                  after one that is shorter than the header Content-Length says, the connection is closed. forward: true has the server do
                  it all the same
  cut-request     bytes: of the body that are forwarded; then both connections are closed
  stall-request   bytes: of the body that are forwarded; then nothing moves until `release`
  flip-request    offset: of the byte of the body that is changed
  repeat-request  the server gets the request twice; the client gets the second answer
  cut-answer      bytes: of the answer's body; then the connection is closed
  stall-answer    bytes: of the answer's body; then nothing moves until `release`
  drop-answer     the server's whole answer is dropped and the connection closed
  flip-answer     offset: of the byte of the body that is changed
  replace-headers headers: names and values in the answer; null removes one
  truncate-body   bytes: the body ends there, with a fitting Content-Length
  hide-entries    key: entries of a listing whose key fits this regular expression are missing, and it claims to be complete
  answer-twice    the answer is sent two times
"""

import argparse
import asyncio
import ctypes
import json
import os
import re
import socket
import ssl
import struct
from collections import Counter

PIECE_BYTES = 65536
# An answer that comes before the end of the request, as for a refused upload: how long the client may go on sending.
DRAIN_SECONDS = 2

REASONS = {200: "OK", 206: "Partial Content", 307: "Temporary Redirect", 400: "Bad Request", 403: "Forbidden", 404: "Not Found",
           409: "Conflict", 412: "Precondition Failed", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
           503: "Service Unavailable", 507: "Insufficient Storage"}


class Closed(Exception):
    """Both connections of a client are to be closed."""


class Head:
    """The first line and the headers of a request or an answer."""

    def __init__(self, raw):
        self.raw = raw
        self.first, *lines = raw[:-4].split(b"\r\n")
        self.lines = lines

    def get(self, name):
        for line in self.lines:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode("latin-1")
        return None

    def replace(self, name, value):
        self.lines = [line for line in self.lines if line.partition(b":")[0].strip().lower() != name.lower().encode()]
        if value is not None:
            self.lines.append(f"{name}: {value}".encode("latin-1"))
        self.raw = b"\r\n".join([self.first, *self.lines]) + b"\r\n\r\n"

    def headers(self):
        pairs = (line.partition(b":") for line in self.lines)
        return {key.strip().lower().decode("latin-1"): value.strip().decode("latin-1") for key, _, value in pairs}


async def read_head(reader):
    """Returns None at the end of the connection."""
    try:
        return Head(await reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def pieces(reader, head, until_close=False):
    """The body as pairs: bytes as sent, and whether they are content (in place of chunks' lengths)."""
    if "chunked" in (head.get("Transfer-Encoding") or "").lower():
        while True:
            line = await reader.readuntil(b"\r\n")
            yield line, False
            size = int(line.split(b";")[0], 16)
            if size == 0:
                while True:
                    line = await reader.readuntil(b"\r\n")
                    yield line, False
                    if line == b"\r\n":
                        return
            while size:
                piece = await reader.read(min(size, PIECE_BYTES))
                if not piece:
                    raise Closed
                size -= len(piece)
                yield piece, True
            yield await reader.readexactly(2), False
    length = head.get("Content-Length")
    left = int(length) if length is not None else -1 if until_close else 0
    while left:
        piece = await reader.read(PIECE_BYTES if left < 0 else min(left, PIECE_BYTES))
        if not piece:
            if left < 0:
                return
            raise Closed
        left -= len(piece) if left > 0 else 0
        yield piece, True


def flipped(piece, start, offset):
    """The piece, which begins at `start` of the body, with one bit of the byte at `offset` changed."""
    index = offset - start
    if 0 <= index < len(piece):
        piece = piece[:index] + bytes([piece[index] ^ 1]) + piece[index + 1:]
    return piece


def without_entries(body, key):
    """A listing without the entries whose key fits, which claims to be complete."""
    def kept(match):
        name = re.search(rb"<Key>(.*?)</Key>", match[0], re.S)
        return b"" if name and re.search(key.encode(), name[1]) else match[0]
    body = re.sub(rb"<Contents>.*?</Contents>", kept, body, flags=re.S)
    body = re.sub(rb"<(NextContinuationToken|NextMarker)>.*?</\1>", b"", body, flags=re.S)
    return body.replace(b"<IsTruncated>true</IsTruncated>", b"<IsTruncated>false</IsTruncated>")


def close_hard(writer):
    """Closes a connection so that the other side sees a reset."""
    connection = writer.get_extra_info("socket")
    if connection is not None and not writer.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def listener_in(namespace, port):
    """A listening socket on all addresses of a network namespace. A socket stays in the namespace that it was made in."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(namespace) as other:
        def enter(file):
            if libc.setns(file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        enter(other)
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        finally:
            enter(own)


class Proxy:
    def __init__(self, target, namespace=None, certificate=None):
        self.host, _, port = target.rpartition(":")
        self.target_port = int(port)
        self.namespace = namespace
        self.tls = None
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate)
        self.port = 0
        self.server = None
        self.faults = []
        self.writers = set()
        self.release = asyncio.Event()
        self.applied = asyncio.Condition()
        self.forget()

    def forget(self):
        self.log = []
        self.connections = 0
        self.by_action = Counter()

    # Listening

    async def listen(self):
        where = {"host": "127.0.0.1", "port": self.port}
        if self.namespace:
            where = {"sock": listener_in(self.namespace, self.port)}
        self.server = await asyncio.start_server(self.serve, limit=1 << 20, ssl=self.tls, **where)
        self.port = self.server.sockets[0].getsockname()[1]

    def refuse(self):
        if self.server is not None:
            self.server.close()
            self.server = None
        for writer in list(self.writers):
            close_hard(writer)

    # Faults

    def choose(self, method, target):
        """The faults of this request, by action."""
        chosen = {}
        for fault in self.faults:
            if fault.get("method", method) != method or not re.search(fault.get("path", ""), target):
                continue
            fault["seen"] += 1
            first, times = fault.get("nth", 1), fault.get("times", 1)
            if fault["seen"] >= first and (times == 0 or fault["seen"] < first + times):
                chosen.setdefault(fault["action"], fault)
        return chosen

    async def note(self, entry, action):
        """Says that a fault was applied. For those that stop something, when they do."""
        entry["faults"].append(action)
        async with self.applied:
            self.by_action[action] += 1
            self.applied.notify_all()

    async def stall(self):
        await self.release.wait()
        raise Closed

    # Forwarding

    async def serve(self, reader, writer):
        self.connections += 1
        connection = self.connections
        self.writers.add(writer)
        # So that `drain` waits until the kernel has all: what is closed afterwards loses nothing of it.
        writer.transport.set_write_buffer_limits(high=0)
        upstream = None
        try:
            while True:
                head = await read_head(reader)
                if head is None:
                    return
                if upstream is None or upstream[0].at_eof() or upstream[1].is_closing():
                    upstream = None
                upstream = await self.exchange(head, reader, writer, upstream, connection)
        except (Closed, ConnectionError, asyncio.IncompleteReadError):
            close_hard(writer)
        finally:
            self.writers.discard(writer)
            writer.close()
            if upstream is not None:
                upstream[1].close()

    async def connect(self):
        reader, writer = await asyncio.open_connection(self.host, self.target_port, limit=1 << 20)
        writer.transport.set_write_buffer_limits(high=0)
        return reader, writer

    async def exchange(self, head, reader, writer, upstream, connection):
        """One request and its answer. Returns the connection to the server, for the next."""
        method, target, _ = head.first.decode("latin-1").split(" ", 2)
        entry = {"number": len(self.log) + 1, "method": method, "path": target, "headers": head.headers(), "status": None,
                 "serverStatus": None, "requestBytes": 0, "answerBytes": 0, "connection": connection, "faults": []}
        self.log.append(entry)
        faults = self.choose(method, target)
        if "delay" in faults:
            await self.note(entry, "delay")
            await asyncio.sleep(faults["delay"]["seconds"])
        if "reset" in faults:
            await self.note(entry, "reset")
            raise Closed
        answer = faults.get("answer")
        if answer and not answer.get("forward"):
            if (head.get("Expect") or "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            async for piece, is_content in pieces(reader, head):
                entry["requestBytes"] += len(piece) if is_content else 0
            await self.answer(answer, entry, method, writer)
            return upstream
        if "repeat-request" in faults:
            return await self.repeat(head, reader, writer, entry, faults)

        try:
            upstream = upstream or await self.connect()
        except OSError as error:
            raise Closed from error
        try:
            sending = asyncio.ensure_future(self.send_request(head, reader, upstream[1], entry, faults))
            receiving = asyncio.ensure_future(self.pass_answer(method, upstream[0], writer, entry, faults))
            try:
                # A failure of the sending ends it; an answer may come before its end.
                await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    sending.result()
                    must_close = await receiving
                else:
                    must_close = receiving.result()
                    await asyncio.wait_for(sending, DRAIN_SECONDS)
            finally:
                for task in (sending, receiving):
                    task.cancel()
                await asyncio.gather(sending, receiving, return_exceptions=True)
        except (Closed, asyncio.TimeoutError, ConnectionError, asyncio.IncompleteReadError) as error:
            close_hard(upstream[1])
            raise Closed from error
        if must_close:
            writer.close()
            upstream[1].close()
            raise Closed
        return upstream

    async def send_request(self, head, reader, server, entry, faults):
        server.write(head.raw)
        stop = faults.get("cut-request") or faults.get("stall-request")
        flip = faults.get("flip-request")
        sent = 0

        async def stop_here():
            await server.drain()
            await self.note(entry, stop["action"])
            if stop["action"] == "stall-request":
                await self.stall()
            raise Closed

        if stop and stop.get("bytes", 0) == 0:
            await stop_here()
        async for piece, is_content in pieces(reader, head):
            if is_content:
                entry["requestBytes"] += len(piece)
                if flip and sent <= flip.get("offset", 0) < sent + len(piece):
                    piece = flipped(piece, sent, flip.get("offset", 0))
                    await self.note(entry, "flip-request")
                if stop and sent + len(piece) >= stop["bytes"]:
                    server.write(piece[:stop["bytes"] - sent])
                    await stop_here()
                sent += len(piece)
            server.write(piece)
            await server.drain()

    async def receive_head(self, server, writer):
        """The final answer's head. Those before it (100 Continue) are passed on."""
        while True:
            head = await read_head(server)
            if head is None:
                raise Closed
            status = int(head.first.split(b" ")[1])
            if status >= 200:
                return head, status
            if writer is not None:
                writer.write(head.raw)

    async def pass_answer(self, method, server, writer, entry, faults):
        """Returns whether the server closes the connection after it."""
        head, status = await self.receive_head(server, writer)
        entry["serverStatus"] = status
        has_body = method != "HEAD" and status not in (204, 304)
        is_delimited = not has_body or head.get("Content-Length") is not None or head.get("Transfer-Encoding") is not None
        closes = not is_delimited or (head.get("Connection") or "").lower() == "close"
        body = pieces(server, head, until_close=True) if has_body else nothing()

        if "drop-answer" in faults or "answer" in faults:
            async for _ in body:
                pass
            if "answer" in faults:
                await self.answer(faults["answer"], entry, method, writer)
                return closes
            await self.note(entry, "drop-answer")
            raise Closed
        for name in ("truncate-body", "hide-entries", "answer-twice"):
            if name in faults:
                return await self.pass_changed(head, status, body, writer, entry, faults) or closes
        if "replace-headers" in faults:
            for name, value in faults["replace-headers"]["headers"].items():
                head.replace(name, value)
            await self.note(entry, "replace-headers")
        stop = faults.get("cut-answer") or faults.get("stall-answer")
        flip = faults.get("flip-answer")
        entry["status"] = status
        writer.write(head.raw)

        async def stop_here():
            await writer.drain()
            await self.note(entry, stop["action"])
            if stop["action"] == "stall-answer":
                await self.stall()
            # In order, so that the client gets all bytes before it notices the end.
            writer.close()
            raise Closed

        if stop and stop.get("bytes", 0) == 0:
            await stop_here()
        async for piece, is_content in body:
            if is_content:
                if flip and entry["answerBytes"] <= flip.get("offset", 0) < entry["answerBytes"] + len(piece):
                    piece = flipped(piece, entry["answerBytes"], flip.get("offset", 0))
                    await self.note(entry, "flip-answer")
                if stop and entry["answerBytes"] + len(piece) >= stop["bytes"]:
                    writer.write(piece[:stop["bytes"] - entry["answerBytes"]])
                    entry["answerBytes"] = stop["bytes"]
                    await stop_here()
                entry["answerBytes"] += len(piece)
            writer.write(piece)
            await writer.drain()
        await writer.drain()
        return closes

    async def pass_changed(self, head, status, body, writer, entry, faults):
        """For faults that need the whole body."""
        content = b"".join([piece async for piece, is_content in body if is_content])
        if "hide-entries" in faults:
            content = without_entries(content, faults["hide-entries"].get("key", ""))
            await self.note(entry, "hide-entries")
        if "truncate-body" in faults:
            content = content[:faults["truncate-body"]["bytes"]]
            await self.note(entry, "truncate-body")
        head.replace("Transfer-Encoding", None)
        head.replace("Content-Length", len(content))
        entry["status"] = status
        for _ in range(2 if "answer-twice" in faults else 1):
            entry["answerBytes"] += len(content)
            writer.write(head.raw + content)
        if "answer-twice" in faults:
            await self.note(entry, "answer-twice")
        await writer.drain()
        return False

    async def repeat(self, head, reader, writer, entry, faults):
        """The server gets the request on two connections, one after the other."""
        if (head.get("Expect") or "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            head.replace("Expect", None)
        request = [head.raw]
        async for piece, is_content in pieces(reader, head):
            entry["requestBytes"] += len(piece) if is_content else 0
            request.append(piece)
        first = await self.connect()
        first[1].writelines(request)
        answer, status = await self.receive_head(first[0], None)
        if entry["method"] != "HEAD" and status not in (204, 304):
            async for _ in pieces(first[0], answer, until_close=True):
                pass
        first[1].close()
        await self.note(entry, "repeat-request")
        second = await self.connect()
        second[1].writelines(request)
        if await self.pass_answer(entry["method"], second[0], writer, entry, faults):
            raise Closed
        return second

    async def answer(self, fault, entry, method, writer):
        status, body = fault["status"], fault.get("body")
        if body is None:
            body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{fault.get("code", "InternalError")}</Code><Message>A fault of '
                    f'the test.</Message><Resource>{entry["path"].split("?")[0]}</Resource><RequestId>FAULT{entry["number"]:011}</RequestId></Error>')
        body = body.encode() * fault.get("repeat", 1)
        headers = {"Content-Type": "application/xml", "Content-Length": str(len(body)), **fault.get("headers", {})}
        entry["status"] = status
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if method == "HEAD" else body))
        entry["answerBytes"] = 0 if method == "HEAD" else len(body)
        await self.note(entry, "answer")
        await writer.drain()
        if method != "HEAD" and int(headers["Content-Length"]) > len(body):
            # In order, so that the client gets all bytes before it notices the end.
            writer.close()
            raise Closed

    # Control

    async def control(self, reader, writer):
        try:
            while line := await reader.readline():
                fields = False
                try:
                    command = json.loads(line)
                    fields = command.get("fields", False)
                    reply = await self.obey(command)
                except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
                    reply = {"error": repr(error)}
                writer.write((as_fields(reply) if fields else json.dumps(reply)).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def obey(self, command):
        what = command["do"]
        if what == "set":
            for fault in command["faults"]:
                if fault["action"] not in ACTIONS:
                    raise ValueError("unknown action " + fault["action"])
                re.compile(fault.get("path", ""))
                fault["seen"] = 0
            self.faults = command["faults"]
        elif what == "refuse":
            self.refuse()
            if not command["on"]:
                await self.listen()
        elif what == "release":
            waiting, self.release = self.release, asyncio.Event()
            waiting.set()
        elif what == "reset":
            self.forget()
        elif what == "counters":
            return {"connections": self.connections, "requests": len(self.log), "methods": Counter(entry["method"] for entry in self.log),
                    "faults": self.by_action}
        elif what == "log":
            return {"requests": self.log}
        elif what == "wait":
            return {"reached": await self.wait_for(command["fault"], command.get("count", 1), command.get("seconds", 30))}
        else:
            raise ValueError("unknown command " + what)
        return {"ok": True}

    async def wait_for(self, action, count, seconds):
        async def reached():
            async with self.applied:
                await self.applied.wait_for(lambda: self.by_action[action] >= count)
        try:
            await asyncio.wait_for(reached(), seconds)
            return True
        except asyncio.TimeoutError:
            return False


def as_fields(reply):
    lines = []
    for key, value in reply.items():
        if key == "requests" and isinstance(value, list):
            for entry in value:
                headers = "\x1f".join(f"{name}: {text}" for name, text in entry["headers"].items())
                numbers = (entry[name] for name in ("status", "serverStatus", "requestBytes", "answerBytes", "connection"))
                lines.append("\t".join(["request", entry["method"], entry["path"], *("-" if one is None else str(one) for one in numbers),
                                        ",".join(entry["faults"]), headers]))
        elif isinstance(value, dict):
            lines += [f"{key}\t{name}\t{count}" for name, count in value.items()]
        else:
            lines.append(f"{key}\t{value}")
    return "".join(line + "\n" for line in lines)


async def nothing():
    return
    yield


ACTIONS = {line.split()[0] for line in (__doc__ or "").split("FAULT: ")[1].splitlines() if re.match(r"  [a-z]", line)}


async def main():
    parser = argparse.ArgumentParser(usage=(__doc__ or "").splitlines()[2])
    parser.add_argument("target")
    parser.add_argument("control")
    parser.add_argument("process", nargs="?", type=int)
    parser.add_argument("--namespace")
    parser.add_argument("--certificate")
    options = parser.parse_args()
    proxy = Proxy(options.target, options.namespace, options.certificate)
    await proxy.listen()
    if os.path.exists(options.control):
        os.unlink(options.control)
    await asyncio.start_unix_server(proxy.control, options.control, limit=1 << 24)
    ended = asyncio.Event()
    if options.process is not None:
        try:
            asyncio.get_running_loop().add_reader(os.pidfd_open(options.process), ended.set)
        except ProcessLookupError:
            return
    print(json.dumps({"port": proxy.port}), flush=True)
    await ended.wait()


asyncio.run(main())
