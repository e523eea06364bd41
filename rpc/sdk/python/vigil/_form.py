"""How calls are written and answers are read: JSON over HTTP."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast
from urllib.parse import quote, urlencode

from . import _errors as errors
from ._calls import METHODS, Method, Route as Path
from ._errors import VigilError
from ._wire import Answer

Json = Dict[str, Any]


def method_of(name: str) -> Method:
    m = METHODS.get(name.replace("/", "."))
    if m is None:
        raise ValueError(f"the API has no call {name!r}: names are as in Fleet.GetRoom, /openapi.json lists them")
    return m


def park(message: Mapping[str, Any]) -> float:
    text = str(message.get("max_wait", "60s"))
    return float(text.rstrip("s")) or 60.0


def request_of(method: str, m: Method, message: Json) -> Tuple[str, str, Optional[bytes]]:
    """Verb, path and body of a call."""
    for r in m.routes:
        if all(message.get(v) not in (None, "") for v in r.variables):
            return (r.verb,) + _filled(method, r, message)
    missing = ", ".join(m.routes[0].variables)
    raise ValueError(f"{method} needs {missing}")


def _filled(method: str, r: Path, message: Json) -> Tuple[str, Optional[bytes]]:
    path = r.path
    for v in r.variables:
        path = path.replace("{" + v + "}", quote(str(message[v]), safe="/" if v == "agent" else ""))
    rest = {k: v for k, v in message.items() if k not in r.variables and v is not None}
    if r.body:
        # What is no Unicode (half of a surrogate pair) no server would take.
        return path, json.dumps(rest, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    pairs: List[Tuple[str, str]] = []
    for k, v in rest.items():
        if k not in r.query:
            raise ValueError(f"{method} has no field {k!r}; it takes {', '.join(r.variables + r.query) or 'nothing'}")
        many: List[Any] = list(v) if isinstance(v, (list, tuple)) else [v]
        pairs += [(k, "true" if one is True else str(one)) for one in many if one is not False and one != ""]
    return (path + "?" + urlencode(pairs) if pairs else path), None


def object_of(answer: Answer) -> Json:
    try:
        value = json.loads(answer.body or b"{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise errors.Internal("the server has answered what is no JSON: is it a server of vigil?")
    return value


def message_of(line: bytes) -> Json:
    """One message of a stream."""
    try:
        value = json.loads(line)
    except ValueError:
        raise errors.Internal("the server has answered what is no JSON: is it a server of vigil?") from None
    if "error" in value:
        raise error_of(value["error"])
    return cast(Json, value.get("result", value))


def failure(answer: Answer, leader: str) -> VigilError:
    """The error that an answer brings."""
    try:
        value = json.loads(answer.body)
        return error_of(value, leader)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    if answer.status == 400 and b"HTTPS" in answer.body:
        return errors.AuthDenied("the server speaks TLS, and this client has no identity: log in with `vigil login "
                                 "TOKEN`, select a context with `vigil context use NAME`, or give a token and roots")
    # Something between us and a server has answered.
    if answer.status in (502, 503, 504, 408, 429):
        return errors.Unavailable(f"something between here and the servers answers {answer.status}")
    return errors.Internal(f"the answer has status {answer.status} and no code: is it a server of vigil?")


def error_of(value: Mapping[str, Any], leader: str = "") -> VigilError:
    """The error that a server describes."""
    code, message = str(value["code"]), str(value.get("message", ""))[:8192]
    kind = errors.CODES.get(code, VigilError)
    e = kind(message, rev=int(value.get("rev") or 0) or None, leader=str(value.get("leader") or leader),
             oldest=int(value.get("oldest") or 0) or None)
    if kind is VigilError:
        e.code = code
    return e
