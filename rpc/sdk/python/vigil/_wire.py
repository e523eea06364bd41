"""HTTP/1.1 on one connection: over TCP, TLS or a Unix socket, with deadlines that hold and an end
that another thread can bring about. It is all that vigil needs of HTTP, without any dependency."""

from __future__ import annotations

import os
import select
import socket
import ssl
import threading
from typing import Dict, Iterator, List, Optional, Set, Tuple

from ._clock import now
from ._fork import anew, keep

MAX_HEAD = 64 << 10  # bytes of the head of an answer
MAX_BODY = 16 << 20  # bytes of its body, as in the Go client
UNIX = "unix:"


class Lost(OSError):
    """The connection ended, or said what is no HTTP, before the whole answer was there.

    sent tells whether the server may have taken the request.
    """

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class Late(Lost):
    """There was no whole answer in time. The server may still be at work on the request."""


class Aborted(Exception):
    """Another thread has ended the call."""


class Scope:
    """Lets another thread end calls, wherever they are: all that are made in it, until it ends and after."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wires: Set[Wire] = set()
        self.ended = threading.Event()
        keep(self)

    def forked(self) -> None:
        self._lock, self._wires, self.ended = threading.Lock(), set(), anew(self.ended)

    def end(self) -> None:
        with self._lock:
            self.ended.set()
            for wire in self._wires:
                wire.abort()

    def hold(self, wire: Wire) -> None:
        with self._lock:
            if self.ended.is_set():
                raise Aborted()
            self._wires.add(wire)

    def drop(self, wire: Wire) -> None:
        with self._lock:
            self._wires.discard(wire)

    def check(self) -> None:
        if self.ended.is_set():
            raise Aborted()


def is_socket(addr: str) -> bool:
    return addr.startswith(UNIX + "/")


def split(addr: str) -> Tuple[str, int]:
    """Host and port of host:port or [v6]:port. ValueError says what is wrong."""
    host, _, port = addr.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"address {addr!r}: want host:port, for instance 127.0.0.1:7420")
    return host, int(port)


def connect(addr: str, timeout: float, shake: float, tls: Optional[ssl.SSLContext]) -> socket.socket:
    """Opens a connection within timeout seconds, with a handshake of shake seconds. OSError says why that failed."""
    if is_socket(addr):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.settimeout(timeout)
            s.connect(addr[len(UNIX):])
        except BaseException:
            s.close()
            raise
        return s
    s = socket.create_connection(split(addr), timeout)
    try:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A machine that has gone without a word is noticed within seconds, also while a call parks.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                s.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if tls is not None:
            s.settimeout(shake)
            s = tls.wrap_socket(s)
        return s
    except BaseException:
        s.close()
        raise


class Answer:
    """What a server has answered. Names of headers are in lower case."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status: int, headers: Dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


class Wire:
    """One connection, for one call at a time."""

    def __init__(self, addr: str, sock: socket.socket) -> None:
        self.addr, self._sock = addr, sock
        self._rest = b""  # read, and not used yet
        self.reusable = True
        self.used = now()
        self.quiet = float("inf")  # s that the other side may say nothing in the middle of an answer
        keep(self)

    def forked(self) -> None:
        self.close()  # the child's end of it only: nothing is said

    def abort(self) -> None:
        """Ends the call under way; any thread may do so."""
        self.reusable = False
        try:
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # beneath TLS, which is another thread's
        except OSError:
            pass  # it has ended already

    def close(self) -> None:
        self.reusable = False
        try:
            self._sock.close()
        except OSError:
            pass

    def stale(self) -> bool:
        """Tells whether an idle connection was ended by the other side: nothing may be said on it then."""
        if self._rest:
            return True
        try:
            if hasattr(select, "poll"):
                p = select.poll()
                p.register(self._sock, select.POLLIN)
                return bool(p.poll(0))
            return bool(select.select([self._sock], [], [], 0)[0])
        except (OSError, ValueError):
            return True

    def send(self, verb: str, path: str, headers: List[str], body: Optional[bytes], timeout: float) -> None:
        lines = [f"{verb} {path} HTTP/1.1", "Host: " + ("vigil" if is_socket(self.addr) else self.addr)]
        lines += headers
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        text = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")
        self.reusable = False
        try:
            self._sock.settimeout(max(timeout, 0.001))
            self._sock.sendall(text)
        except socket.timeout:
            raise Late(f"server {self.addr} does not take the request", True) from None
        except (OSError, ValueError) as e:
            raise Lost(f"server {self.addr}: {e}", True) from None

    def _more(self, until: float) -> bytes:
        left = min(until - now(), self.quiet)
        try:
            self._sock.settimeout(None if left == float("inf") else max(left, 0.001))
            part = self._sock.recv(65536)
        except socket.timeout:
            raise Late(f"server {self.addr} did not answer in time", True) from None
        except (OSError, ValueError) as e:
            raise Lost(f"server {self.addr}: {e}", True) from None
        if not part:
            raise Lost(f"server {self.addr} has closed the connection", True)
        return part

    def _line(self, until: float, most: int) -> bytes:
        while True:
            at = self._rest.find(b"\n")
            if at >= 0:
                line, self._rest = self._rest[:at], self._rest[at + 1:]
                return line.rstrip(b"\r")
            if len(self._rest) > most:
                raise Lost(f"server {self.addr} sends a line of more than {most} bytes", True)
            self._rest += self._more(until)

    def _exactly(self, n: int, until: float) -> bytes:
        if n > MAX_BODY:
            raise Lost(f"server {self.addr} sends more than {MAX_BODY} bytes", True)
        parts, have = [self._rest], len(self._rest)
        while have < n:
            parts.append(self._more(until))
            have += len(parts[-1])
        text = b"".join(parts)
        self._rest = text[n:]
        return text[:n]

    def head(self, until: float) -> Tuple[int, Dict[str, str]]:
        while True:
            status = self._line(until, MAX_HEAD).decode("latin-1").split(" ", 2)
            if len(status) < 2 or not status[0].startswith("HTTP/1.") or not status[1].isdigit():
                raise Lost(f"server {self.addr} does not speak HTTP", True)
            headers: Dict[str, str] = {}
            size = 0
            while True:
                line = self._line(until, MAX_HEAD)
                if not line:
                    break
                size += len(line)
                if size > MAX_HEAD:
                    raise Lost(f"server {self.addr} sends a head of more than {MAX_HEAD} bytes", True)
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
            if int(status[1]) >= 200:
                return int(status[1]), headers

    def chunks(self, headers: Dict[str, str], until: float) -> Iterator[bytes]:
        """The body in parts, as they come. until may be infinite."""
        if "chunked" in headers.get("transfer-encoding", "").lower():
            while True:
                try:
                    n = int(self._line(until, 1024).split(b";")[0], 16)
                except ValueError:
                    raise Lost(f"server {self.addr} does not speak HTTP", True) from None
                if n == 0:
                    while self._line(until, MAX_HEAD):
                        pass
                    return
                yield self._exactly(n, until)
                self._line(until, 16)
        length = headers.get("content-length", "")
        if length:
            if not length.isdigit():
                raise Lost(f"server {self.addr} does not speak HTTP", True)
            yield self._exactly(int(length), until)

    def receive(self, until: float) -> Answer:
        """The whole answer, until that time of the clock."""
        status, headers = self.head(until)
        parts: List[bytes] = []
        size = 0
        if status not in (204, 304):
            for part in self.chunks(headers, until):
                parts.append(part)
                size += len(part)
                if size > MAX_BODY:
                    raise Lost(f"server {self.addr} sends more than {MAX_BODY} bytes", True)
        self.reusable = headers.get("connection", "").lower() != "close" and not self._rest
        self.used = now()
        return Answer(status, headers, b"".join(parts))

    def exchange(self, verb: str, path: str, headers: List[str], body: Optional[bytes], timeout: float) -> Answer:
        """One request and its answer within timeout seconds."""
        until = now() + timeout
        self.send(verb, path, headers, body, timeout)
        return self.receive(until)


def refused(e: BaseException) -> bool:
    """Tells whether nobody listens there."""
    return isinstance(e, (ConnectionRefusedError, FileNotFoundError, socket.gaierror))


def exists(path: str) -> bool:
    return os.path.exists(path)
