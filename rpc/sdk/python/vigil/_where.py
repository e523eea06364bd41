"""Which servers are asked, and who asks: the rules of the command line.

addr > context > VIGIL_SOCKET > VIGIL_ADDR > VIGIL_CONTEXT > the selected context > 127.0.0.1:7420
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._wire import UNIX, is_socket, split

DEFAULT = "127.0.0.1:7420"
_MAX_FILE = 1 << 20  # bytes of a file of contexts, or of a list of servers
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME


class Place:
    """The servers to ask, and how they are spoken to."""

    def __init__(self, addrs: Sequence[str], source: str, identity: str = "", file: str = "",
                 token: str = "", roots: str = "") -> None:
        self.addrs = list(addrs)
        self.source = source  # what has named them, for people
        self.identity = identity  # folder with who asks
        self.file = file  # with more addresses, one a line
        self.token = token  # API token
        self.roots = roots  # file with the root to trust

    @property
    def local(self) -> bool:
        """Tells whether it is the socket of a life: then nobody else is asked."""
        return is_socket(self.addrs[0])

    def tls(self) -> Optional["Trust"]:
        """How connections prove who asks, and check who answers; None: in clear. It reads the files anew."""
        if self.local or not (self.identity or self.roots):
            if self.token and not self.local:
                raise ValueError("an API token needs TLS, whoever hears it could use it: give roots, the file "
                                 "roots.crt of the folder that `vigil context show --identity` names, or VIGIL_ROOTS")
            return None
        return Trust(self.roots or os.path.join(self.identity, "roots.crt"), "" if self.token else self.identity)

    def more(self) -> List[str]:
        """The addresses in the file; none where it cannot be read."""
        if not self.file:
            return []
        try:
            with open(self.file, "rb") as f:
                return f.read(4096).decode("utf-8", "replace").split()
        except OSError:
            return []


class Trust:
    """Roots, and a certificate with its key."""

    def __init__(self, roots: str, identity: str) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Names of servers are not those of machines: connected() looks at them. Which certificates are too
        # old the cluster decides by its own time, as for every client.
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.verify_flags = ssl.VerifyFlags(int(self.context.verify_flags) | _NO_CHECK_TIME)
        try:
            self.context.load_verify_locations(roots)
            if identity:
                _private(os.path.join(identity, "leaf.key"))
                self.context.load_cert_chain(os.path.join(identity, "leaf.key"))
        except FileNotFoundError as e:
            raise ValueError(f"there is no identity in {identity or roots}: log in again with `vigil login TOKEN`, "
                             "or select another context with `vigil context use`") from e
        except ssl.SSLError as e:
            raise ValueError(f"the identity in {identity or roots} is damaged ({e.reason}): log in again with "
                             "`vigil login TOKEN`") from e
        self.clusters = {uri.split("/")[2] for cert in self.context.get_ca_certs()
                         for uri in _uris(cert) if uri.startswith("spiffe://")}

    def connected(self, sock: ssl.SSLSocket, addr: str) -> None:
        """Refuses the other end unless it is a server of the cluster."""
        uris = _uris(sock.getpeercert() or {})
        parts = uris[0].split("/") if len(uris) == 1 else []
        if len(parts) != 5 or parts[0] != "spiffe:" or parts[2] not in self.clusters or parts[3] != "server":
            raise ssl.SSLError(f"who listens at {addr} is no server of this cluster")


def _uris(cert: Mapping[str, object]) -> List[str]:
    names = cert.get("subjectAltName", ())
    return [str(n[1]) for n in names if n[0] == "URI"] if isinstance(names, tuple) else []


def _private(path: str) -> None:
    if os.name == "posix" and os.stat(path).st_mode & 0o077:
        raise ValueError(f"{path} may be read by others: run chmod 600 on it, and think about who did")


def find(addr: Union[str, Sequence[str], None] = None, context: Optional[str] = None,
         identity: Optional[str] = None, token: Optional[str] = None, roots: Optional[str] = None,
         env: Optional[Mapping[str, str]] = None) -> Place:
    """The place to ask. ValueError names what is wrong, where, and the remedy."""
    env = os.environ if env is None else env
    token = str(token or env.get("VIGIL_API_TOKEN", ""))
    roots = str(roots or env.get("VIGIL_ROOTS", ""))
    if addr and context:
        raise ValueError("give addr or context, not both")
    if not addr and not context and env.get("VIGIL_SOCKET"):
        return Place([UNIX + env["VIGIL_SOCKET"]], "VIGIL_SOCKET")
    given = _clean([addr] if isinstance(addr, str) else list(addr or []), "addr")
    source, file = "addr", ""
    if not given and not context:
        given, source = _clean(env.get("VIGIL_ADDR", "").split(","), "VIGIL_ADDR"), "VIGIL_ADDR"
        file = env.get("VIGIL_SERVERS", "")
    if given:
        if is_socket(given[0]):
            if len(given) > 1:
                raise ValueError(f"address {given[0]!r}: a socket is named alone")
            return Place(given, source)
        who = identity or env.get("VIGIL_IDENTITY", "") or ("" if token else _known(given, env))
        return Place(given, source, who, file, token, roots)
    path, contexts, selected = _contexts(env)
    name = context or env.get("VIGIL_CONTEXT", "") or selected
    if not name:
        who = identity or env.get("VIGIL_IDENTITY", "") or ("" if token else _known([DEFAULT], env))
        return Place([DEFAULT], "nothing else was said", who, file, token, roots)
    if name not in contexts:
        raise ValueError(f"there is no context {name!r} in {path}: `vigil context list` shows them, "
                         f"`vigil context set {name} HOST:PORT` makes one")
    servers, folder = contexts[name]
    given = _clean(servers, f"context {name} in {path}")
    if not given:
        raise ValueError(f"context {name} in {path} names no server; `vigil context set {name} HOST:PORT` mends it")
    return Place(given, f"context {name}", identity or folder, file, token, roots)


def _clean(texts: Sequence[str], where: str) -> List[str]:
    addrs = []
    for text in texts:
        text = text.strip()
        for scheme in ("http://", "https://"):
            if text.startswith(scheme):
                text = text[len(scheme):]
        if not text:
            continue
        if not is_socket(text):
            text = text.rstrip("/")
            try:
                split(text)
            except ValueError as e:
                raise ValueError(f"{where}: {e}") from None
        addrs.append(text)
    return addrs


def _known(addrs: Sequence[str], env: Mapping[str, str]) -> str:
    """Who one is in the context that these servers are of."""
    try:
        _, contexts, _ = _contexts(env)
    except ValueError:
        return ""
    for _, (servers, folder) in sorted(contexts.items()):
        if folder and set(servers) & set(addrs):
            return folder
    return ""


Contexts = Dict[str, Tuple[List[str], str]]


def _contexts(env: Mapping[str, str]) -> Tuple[str, Contexts, str]:
    """The file of contexts, what it holds (servers and identity by name), and the selected one."""
    folder = env.get("XDG_CONFIG_HOME") or (os.path.join(env["HOME"], ".config") if env.get("HOME") else "")
    if not folder:
        return "", {}, ""
    path = Path(folder) / "vigil" / "contexts.yaml"
    try:
        with open(path, "rb") as f:
            text = f.read(_MAX_FILE).decode("utf-8")
    except FileNotFoundError:
        return str(path), {}, ""
    except (OSError, UnicodeDecodeError) as e:
        raise ValueError(f"{path} cannot be read: {e}") from None
    contexts, selected = _read(text, str(path))
    return str(path), contexts, selected


def _read(text: str, path: str) -> Tuple[Contexts, str]:
    """Reads the YAML that vigil writes: maps, lists and plain or quoted words, nothing else of it."""
    contexts: Contexts = {}
    selected, name, key = "", "", ""
    steps: List[int] = []  # how far in the names of contexts and their keys are
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or bare == "---":
            continue
        indent = len(line) - len(line.lstrip(" "))
        if bare.startswith("- ") and key == "servers" and name:
            contexts[name][0].append(_word(bare[2:], path, number))
            continue
        left, colon, right = bare.partition(": ")
        if not colon and bare.endswith(":"):
            left, colon, right = bare[:-1], ":", ""
        if not colon or line.startswith("\t"):
            raise ValueError(f"{path}:{number}: this cannot be read; `vigil context list` tells more")
        word = _word(left, path, number)
        if indent == 0:
            name, steps = "", []
            if word == "selected":
                selected = _word(right, path, number)
            continue
        if not steps:
            steps = [indent]
        if indent == steps[0]:
            name, key = word, ""
            contexts[name] = ([], "")
            continue
        key = word
        if key == "identity":
            contexts[name] = (contexts[name][0], _word(right, path, number))
        elif key == "servers" and right.strip() not in ("", "[]"):
            for part in right.strip().strip("[]").split(","):
                contexts[name][0].append(_word(part, path, number))
    return contexts, selected


def _word(text: str, path: str, number: int) -> str:
    text = text.strip()
    if text.startswith('"'):
        import json
        try:
            return str(json.loads(text))
        except ValueError:
            raise ValueError(f"{path}:{number}: {text} cannot be read") from None
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return text.split(" #")[0].strip()
