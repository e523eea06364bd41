"""Which life of which agent speaks, by the environment."""

from __future__ import annotations

import os
from typing import Mapping, Optional


class Who:
    """Which life of which agent speaks."""

    def __init__(self, agent: str, incarnation: int = 0, token: str = "") -> None:
        self.agent, self.incarnation, self.token = agent, incarnation, token


def parse_incarnation(text: str) -> int:
    """Reads "n", or "epoch.n" after a backup was restored."""
    head, dot, tail = text.partition(".")
    try:
        return int(head) << 32 | int(tail) if dot else int(head)
    except ValueError:
        raise ValueError(f"VIGIL_INCARNATION {text!r}: want a number, or epoch.number") from None


def who(role: str, env: Optional[Mapping[str, str]] = None) -> Who:
    """Who a worker of a role is: in a managed life (or under `vigil run`) the agent whose environment this is;
    else, by hand, the first free one of the role, or the one that is named as room/role.2."""
    env = os.environ if env is None else env
    room, slash, rest = role.partition("/")
    if not slash or not room or not rest or "/" in rest:
        raise ValueError(f"role {role!r}: name it as room/role, for instance web/builder")
    agent, bare = env.get("VIGIL_AGENT", ""), role.partition(".")[0]
    if agent.partition(".")[0] == bare and env.get("VIGIL_INCARNATION"):
        if "." in rest and _first(agent) != _first(role):
            raise ValueError(f"this is the life of {agent}, not of {role}: name the role {bare}")
        return Who(agent, parse_incarnation(env["VIGIL_INCARNATION"]), _token(env))
    if env.get("VIGIL_SOCKET"):
        raise ValueError(f"this is the life of {agent or 'an agent'}, and the worker is of {role}: start it by a "
                         f"runner of that role, or name the role {agent.partition('.')[0]}")
    if agent.partition(".")[0] == bare and "." not in rest:
        return Who(agent)
    return Who(role if "." in rest else role + ".*")


def _first(agent: str) -> str:
    return agent[:-2] if agent.endswith(".1") else agent


def _token(env: Mapping[str, str]) -> str:
    path = env.get("VIGIL_TOKEN_FILE", "")
    if env.get("VIGIL_TOKEN") or not path:
        return env.get("VIGIL_TOKEN", "")
    try:
        with open(path, "rb") as f:
            text = f.read(4097)
    except FileNotFoundError:
        raise ValueError(f"VIGIL_TOKEN_FILE: {path} is gone: the life that it belongs to has ended") from None
    except OSError as e:
        raise ValueError(f"VIGIL_TOKEN_FILE: {e}: only the agent's own account can read it") from None
    if len(text) > 4096:
        raise ValueError(f"VIGIL_TOKEN_FILE: {path} has more than 4096 bytes: it holds no token")
    return text.decode("utf-8", "replace").strip()
