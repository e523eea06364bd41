"""Which server to ask now: the leader for most calls, any server for those that park."""

from __future__ import annotations

import random
import threading
from typing import Dict, List, Optional

from ._clock import now
from ._errors import Closed, Unavailable
from ._where import Place, Trust
from ._wire import Scope, Wire, connect, refused, split

DIAL = 1.0  # s that a server may take to accept a connection,
DIAL_SHARE = 3  # and which part of the call's time, where that is less
SHAKE = 10.0  # s for the handshake after that, as long as a server lets one wait
REST_MIN, REST_MAX = 0.05, 2.0  # s that an address which failed is left alone
MAX_SERVERS = 16  # addresses that are learned
IDLE = 60.0  # s after which an idle connection is not used any more: servers close it after 2 min
MAX_IDLE = 16  # idle connections to one server


class Route:
    """The server that a kind of call goes to. The lock of Servers guards it."""

    def __init__(self, target: str) -> None:
        self.target = target


class _Rest:
    def __init__(self) -> None:
        self.times, self.until, self.reason = 0, 0.0, ""


class Servers:
    """Keeps connections. Safe for threads."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._trust: Optional[Trust] = place.tls()
        self._lock = threading.Lock()
        self._told = ""
        self._idle: Dict[str, List[Wire]] = {}
        self._rest: Dict[str, _Rest] = {}
        self._read_at = 0.0
        self._closed = False
        self.addrs = list(place.addrs)
        self.reached = False
        self.lead = Route(self.addrs[0])
        self.park = Route(random.choice(self.addrs))
        self._reread()

    def forked(self) -> None:
        """Connections are those of the parent, which goes on with them."""
        self._lock = threading.Lock()
        self._idle = {}

    def wire(self, route: Route, scope: Optional[Scope], until: float = float("inf")) -> Wire:
        """A connection on which a call can be sent now, within that time of the clock. Unavailable says which servers
        were tried."""
        for addr in self._order(route):
            if scope is not None:
                scope.check()
            left = until - now()
            if left <= 0:
                break  # beats of a short lease: the next one begins with the next address
            idle = self._reuse(addr)
            if idle is not None:
                self._settle(route, addr)
                return idle
            try:
                wire = self._dial(addr, left)
            except OSError as e:
                self.failed(addr, str(e) if not refused(e) else f"{addr}: {e.strerror or e}")
                continue
            self._settle(route, addr)
            return wire
        self._reread()
        raise self._unreachable()

    def _dial(self, addr: str, left: float) -> Wire:
        with self._lock:
            if self._closed:
                raise Closed()
            trust = self._trust
        dial = min(DIAL, left / DIAL_SHARE)
        sock = connect(addr, dial, min(SHAKE, left - dial), trust.context if trust else None)
        if trust is not None:
            import ssl
            assert isinstance(sock, ssl.SSLSocket)
            try:
                trust.connected(sock, addr)
            except BaseException:
                sock.close()
                raise
        return Wire(addr, sock)

    def _reuse(self, addr: str) -> Optional[Wire]:
        while True:
            with self._lock:
                if self._closed:
                    raise Closed()
                idle = self._idle.get(addr)
                if not idle:
                    return None
                wire = idle.pop()
            if now() - wire.used < IDLE and not wire.stale():
                return wire
            wire.close()

    def give(self, wire: Wire) -> None:
        """Gives a connection back after a call."""
        with self._lock:
            idle = self._idle.setdefault(wire.addr, [])
            if wire.reusable and not self._closed and len(idle) < MAX_IDLE:
                idle.append(wire)
                return
        wire.close()

    def _order(self, route: Route) -> List[str]:
        """The addresses worth trying: the route's target, then the known ones from there on."""
        with self._lock:
            at = self.addrs.index(route.target) if route.target in self.addrs else 0
            every = [route.target] + [a for a in self.addrs[at:] + self.addrs[:at] if a != route.target]
            t = now()
            return [a for a in every if a not in self._rest or self._rest[a].until <= t]

    def _settle(self, route: Route, addr: str) -> None:
        with self._lock:
            self.reached = True
            self._rest.pop(addr, None)
            route.target = addr

    def failed(self, addr: str, reason: str) -> None:
        """Leaves an address alone for a while, and drops its connections."""
        with self._lock:
            rest = self._rest.setdefault(addr, _Rest())
            rest.until = now() + min(REST_MIN * 2 ** min(rest.times, 10), REST_MAX)
            rest.times += 1
            rest.reason = reason
            wires = self._idle.pop(addr, [])
            self._forget(self.lead, addr)
            self._forget(self.park, addr)
        for w in wires:
            w.close()

    def leave(self, route: Route, addr: str) -> None:
        """Has the route try the server after addr next."""
        with self._lock:
            self._forget(route, addr)

    def _forget(self, route: Route, addr: str) -> None:
        if route.target == addr:
            at = self.addrs.index(addr) if addr in self.addrs else -1
            route.target = self.addrs[(at + 1) % len(self.addrs)]

    def follow(self, addr: str) -> bool:
        """Sends the leader's calls to addr from now on; False where it cannot be asked."""
        if self.place.local or not _dialable(addr):
            return False
        with self._lock:
            rest = self._rest.get(addr)
            if self.lead.target != addr and rest is not None and now() < rest.until:
                return False
            self.lead.target = addr
            return True

    def learn(self, text: str) -> None:
        """Takes over what a server says of all servers. The configured ones are never forgotten."""
        if self.place.local or text == self._told:
            return
        self._told = text
        self._know(text.split(","))

    def _know(self, learned: List[str]) -> None:
        learned = [a for a in learned if _dialable(a)][:MAX_SERVERS]
        if not learned:
            return
        there = [a for a in self.place.addrs if a in learned]
        there += [a for a in dict.fromkeys(learned) if a not in there]
        with self._lock:
            self.addrs = there + [a for a in self.place.addrs if a not in learned]

    def _reread(self) -> None:
        if self.place.file and now() - self._read_at >= 1:
            self._read_at = now()
            found = self.place.more()
            if found:
                self._know(found + [a for a in self.addrs if a not in self.place.addrs])

    def redial(self) -> None:
        """Has new connections show the certificate of now."""
        try:
            trust = self.place.tls()
        except ValueError:
            return  # what was read before may still be good
        with self._lock:
            self._trust = trust
            wires = [w for ws in self._idle.values() for w in ws]
            self._idle.clear()
        for w in wires:
            w.close()

    @property
    def secure(self) -> bool:
        return self._trust is not None

    def _unreachable(self) -> Unavailable:
        with self._lock:
            why = next((self._rest[a].reason for a in self.addrs if a in self._rest and self._rest[a].reason), "")
            where = ", ".join(self.addrs)
        return Unavailable(f"no server could be reached at {where}{f' ({why})' if why else ''}; check that the servers "
                           f"run and that the addresses are right: they are from {self.place.source}")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            wires = [w for ws in self._idle.values() for w in ws]
            self._idle.clear()
        for w in wires:
            w.close()


def _dialable(addr: str) -> bool:
    try:
        host, _ = split(addr)
    except ValueError:
        return False
    return len(addr) <= 255 and host not in ("0.0.0.0", "::")
