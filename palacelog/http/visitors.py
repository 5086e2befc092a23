"""Who asks over HTTP, and how much memory a request may use.

Protects a ceiling: of what a person allowed (the palace's settings, a token, a header) the least
holds. Protects the record: what a request says of itself is short and plain. May not refuse an
operation: that is the gate's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from domain import gate
from domain.errors import invalid
from domain.identity import NAME_CHARACTERS_MAX
from domain.operation import Context
from palacelog.http.asgi import Scope, header

MODE_HEADER: Final = "X-Palacelog-Mode"
CASTLE_MODE_HEADER: Final = "X-MemCastle-Mode"
AGENT_HEADER: Final = "X-Palacelog-Agent"
SESSION_HEADER: Final = "X-Palacelog-Session"
_KEY: Final = "palacelog.visitor"


@dataclass(frozen=True)
class Visitor:
    """Who asks.

    Attributes:
        name: of the token; None where nobody needs one.
        mode: the most memory that the token allows.
    """

    name: str | None
    mode: str = gate.FULL


def admit(scope: Scope, visitor: Visitor) -> None:
    """Note who makes a request."""
    scope[_KEY] = visitor


def visitor_of(scope: Scope) -> Visitor:
    """Who makes a request; nobody known where nothing was noted."""
    found = scope.get(_KEY)
    return found if isinstance(found, Visitor) else Visitor(None)


def context_of(scope: Scope, context: Context) -> Context:
    """Who asks, and the most memory that the request may use.

    Args:
        context: of the palace's settings.
    """
    visitor = visitor_of(scope)
    return replace(
        context,
        principal=visitor.name or context.principal,
        session_mode=gate.least(context.session_mode, visitor.mode),
        # A port is open to every user of the machine, and files are not.
        here=False,
    )


def named(scope: Scope, context: Context) -> Context:
    """Who asks, with the agent and the session that the headers name.

    Raises:
        InvalidInput: a header is given more than once, or is no name.
    """
    agent, session = (_name_in(scope, name) for name in (AGENT_HEADER, SESSION_HEADER))
    return replace(context, agent=agent or context.agent, session=session or context.session)


def _name_in(scope: Scope, name: str) -> str | None:
    said = header(scope, name.lower().encode())
    if not said:
        return None
    try:
        text = said[0].encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        text = ""
    if len(said) > 1 or not (text.isprintable() and 1 <= len(text) <= NAME_CHARACTERS_MAX):
        raise invalid(
            name, "is no name", f"Send it once: 1 to {NAME_CHARACTERS_MAX} characters in UTF-8."
        )
    return text


def mode_asked(scope: Scope) -> str | None:
    """The session mode that the headers ask for; None where they ask for none.

    Raises:
        InvalidInput: it is none, or they ask for several.
    """
    names = (MODE_HEADER, CASTLE_MODE_HEADER)
    said = {value for name in names for value in header(scope, name.lower().encode())}
    if len(said) > 1:
        raise invalid(
            MODE_HEADER, "is given more than once, and differs", f"Send one of {', '.join(names)}."
        )
    return gate.session_mode(said.pop()) if said else None
