"""Ids that follow from content or from an operation, so that every machine arrives at the same one.

Protects deduplication and references: an id is computed, never drawn, except for the log's own.
Device names and their incarnations are parsed here too. Sources: DESIGN section 5; the drawer id
equals MemPalace's v3 id.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from domain.canonical import digest
from domain.instants import show

DEVICE_NAME_CHARACTERS_MAX: Final = 64
DIARY_ROOM: Final = "diary"
NAME_CHARACTERS_MAX: Final = 128

_NO_PLACE = re.compile(r"\s+|[/\\]|\.\.+")
_NO_MARKS = str.maketrans("", "", "-:.")
_DEVICE = re.compile(r"([a-z0-9-]{1,64})(?:~([1-9][0-9]{0,5}))?")


def drawer_id(wing: str, room: str, content: str) -> str:
    """`drawer_{wing}_{room}_{h}`; h is 24 hex digits of sha256 over `<characters>:<part>` of all
    three.
    """
    joined = "".join(f"{len(part)}:{part}" for part in (wing, room, content))
    return f"drawer_{wing}_{room}_{sha256(joined.encode()).hexdigest()[:24]}"


def fact_id(op_id: str, index: int = 0) -> str:
    """The id of the assertion that the `index`-th part of an operation makes."""
    return f"fact_{digest(op_id, index).hex()[:24]}"


def diary_id(wing: str, written_at: int, entry: str) -> str:
    """`diary_{wing}_{YYYYmmdd_HHMMSSffffff}_{h}`; h is 12 hex digits of sha256 of the entry.

    Args:
        written_at: microseconds UTC.
    """
    day, _, hour = show(written_at).rstrip("Z").partition("T")
    moment = f"{day}_{hour}".translate(_NO_MARKS)
    return f"diary_{wing}_{moment}_{sha256(entry.encode()).hexdigest()[:12]}"


def is_diary_id(id: str, wing: str, entry: str) -> bool:
    """Whether an id can be that of an entry; a repeated entry keeps the time of the first."""
    digest_of_entry = sha256(entry.encode()).hexdigest()[:12]
    form = rf"diary_{re.escape(wing)}_[0-9]{{8}}_[0-9]{{12}}_{digest_of_entry}"
    return re.fullmatch(form, id) is not None


def diary_wing(agent: str) -> str:
    """The wing of an agent's diary where none is named: its name, as a wing can be called."""
    return f"wing_{_NO_PLACE.sub('_', agent)}"[:NAME_CHARACTERS_MAX]


def operation_id(device: str, stream: str, local_seq: int, tool: str, payload_digest: bytes) -> str:
    """op_id: 64 hex digits over the length-prefixed parts."""
    return digest(device, stream, local_seq, tool, payload_digest).hex()


def valid_device(name: str) -> bool:
    """Whether `name` is a device name, with or without an incarnation (`laptop`, `laptop~2`)."""
    found = _DEVICE.fullmatch(name)
    return found is not None and found.group(2) != "1"


def base_device(name: str) -> str:
    """The device without its incarnation: `laptop~3` -> `laptop`."""
    return name.partition("~")[0]


def next_incarnation(name: str) -> str:
    """The name that a device goes on under: `laptop` -> `laptop~2` -> `laptop~3`."""
    base, _, number = name.partition("~")
    return f"{base}~{int(number or '1') + 1}"


def stream_id(device: str, stream: str) -> str:
    """The stored stream: `<device>` for the shared stream, `<device>/local` for what stays."""
    return device if stream == "shared" else f"{device}/{stream}"


def device_name_from(host: str, suffix: str) -> str:
    """A device name from a host's name made to fit, plus `suffix` (four characters drawn by the
    caller).
    """
    fitted = re.sub(r"[^a-z0-9-]+", "-", host.lower()).strip("-")
    room = DEVICE_NAME_CHARACTERS_MAX - len(suffix) - 1
    return f"{fitted[:room].strip('-') or 'device'}-{suffix}"
