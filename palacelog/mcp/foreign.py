"""What other memory servers' tools take: under their prefix, a tool takes their arguments too.

Protects agents that were taught another server: what means the same here is done, what has no
effect there has none here, and anything else is refused with the name of what palacelog has
instead. May not do an operation, nor let one pass: the call line refuses first.
Source: the tool lists of MemPalace 3.11 and of MemCastle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from domain.errors import InvalidInput, PalaceError

Arguments = Mapping[str, Any]


class Takes(NamedTuple):
    """How another server's tool differs from the operation of the same name.

    Attributes:
        renamed: their argument to ours.
        ignored: arguments that change nothing there either.
        values: of an argument, their value to ours.
        instead: of an argument that we have not, what to do.
    """

    renamed: Mapping[str, str] = {}
    ignored: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[Any, Any]] = {}
    instead: Mapping[str, str] = {}


class Server(NamedTuple):
    """Another memory server.

    Attributes:
        takes: its tools that we have too, where their arguments differ.
        lacking: its tools that we have not, and what to do instead; `{}` stands for the prefix.
    """

    takes: Mapping[str, Takes]
    lacking: Mapping[str, str]


_ONE_PLACE: Final = "Give `start_wing` too: a room is named within its wing."
_AGENT: Final = {"agent_identity": "agent_name"}
_SEARCH: Final = "Call {}search, which takes it."
_OF_SEARCH: Final = (
    *("limit", "ranking", "tags", "source_kind"),
    *("from", "until", "include_historical", "expand"),
)

MEMPALACE: Final = Server(
    takes={
        "kg_query": Takes(values={"direction": {"outgoing": "out", "incoming": "in"}}),
        "kg_add": Takes(instead={"source_closet": "Give `source_drawer_id`."}),
        "search": Takes(ignored=frozenset({"context"}), values={"max_distance": {0: None}}),
        "list_drawers": Takes(instead={"offset": "Send the `cursor` of the page before."}),
        "diary_write": Takes(renamed={"content": "entry"}),
        "checkpoint": Takes(instead={"added_by": "Give `added_by` in each item."}),
        "traverse": Takes(instead={"start_wing": _ONE_PLACE}),
        "mine": Takes(renamed={"source": "path"}),
    },
    lacking={
        "get_aaak_spec": "Texts are stored as they are given: call {}add_drawer.",
        "list_hallways": "Call {}entity_mentions or {}entity_relationships.",
        "delete_hallway": "Hallways are not stored here; see {}entity_relationships.",
        "sync": "Call {}mine again; {}show_job names the files that are gone.",
        "hook_settings": "Hooks belong to the host; choose a session mode with {}set_mode.",
        "memories_filed_away": "Call {}list_operations.",
        "reconnect": "There is nothing to connect again: call {}status.",
    },
)

MEMCASTLE: Final = Server(
    takes={
        "search": Takes(instead={"source_kind": "Give `source_file`."}),
        "recall": Takes(instead=dict.fromkeys(_OF_SEARCH, _SEARCH)),
        "wake_up": Takes(renamed=_AGENT),
        "diary_write": Takes(renamed=_AGENT | {"content": "entry"}),
        "diary_read": Takes(renamed=_AGENT | {"limit": "last_n"}),
        "checkpoint": Takes(
            instead={
                "payload": "Give `items`, each with wing, room and content.",
                "emergency": "A checkpoint is durable when it is answered: leave it out.",
            }
        ),
        "audit": Takes(instead={"scope": "Give `since` and `before`."}),
        "mine": Takes(renamed={"source": "path"}),
    },
    lacking={
        "repair": "Run `palacelog doctor`.",
        "job_list": "Call {}list_jobs.",
        "job_get": "Call {}show_job.",
    },
)

SERVERS: Final = {"mempalace_": MEMPALACE, "memcastle_": MEMCASTLE}
_SAME: Final = Takes()


def _takes(prefix: str, tool: str) -> Takes:
    server = SERVERS.get(prefix)
    return _SAME if server is None else server.takes.get(tool, _SAME)


def ours(prefix: str, tool: str, arguments: Arguments) -> dict[str, Any]:
    """Arguments as our operation takes them; what it takes itself stays as it is.

    Args:
        prefix: of the tools; one that names no other server changes nothing.
        tool: our name of the tool.
    """
    takes = _takes(prefix, tool)
    made = {name: value for name, value in arguments.items() if name not in takes.ignored}
    for theirs, name in takes.renamed.items():
        if theirs in made:
            value = made.pop(theirs)
            made.setdefault(name, value)
    # Left open there; an argument of ours may be null where that means something.
    for name in takes.instead:
        if not made.get(name, True):
            del made[name]
    for name, values in takes.values.items():
        if name in made and isinstance(made[name], int | float | str):
            made[name] = values.get(made[name], made[name])
    return made


def told(prefix: str, tool: str, error: PalaceError) -> PalaceError:
    """An error of the call line, with what to do instead where the other server would do it."""
    server = SERVERS.get(prefix)
    if server is None or not isinstance(error, InvalidInput):
        return error
    cure = None
    if error.code.endswith("::unknown_tool"):
        cure = server.lacking.get(tool)
    else:
        field = error.message.split("`")[1] if "`" in error.message else ""
        cure = _takes(prefix, tool).instead.get(field)
    if cure is None:
        return error
    code = error.code.removeprefix("palacelog::")
    return InvalidInput(code, error.message, cure.replace("{}", prefix), error.position)


def widened(prefix: str, tool: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of our operation's arguments, with theirs beside them."""
    takes = _takes(prefix, tool)
    if takes is _SAME:
        return schema
    properties = dict(schema["properties"])
    properties |= {
        theirs: {"type": properties[name]["type"]} for theirs, name in takes.renamed.items()
    }
    properties |= {name: {"type": "string"} for name in takes.ignored}
    for name, values in takes.values.items():
        if "enum" in properties[name]:
            known = [*properties[name]["enum"], *values]
            properties[name] = properties[name] | {"enum": known}
    needed = [name for name in schema.get("required", ()) if name not in takes.renamed.values()]
    return schema | {"properties": properties, "required": needed}
