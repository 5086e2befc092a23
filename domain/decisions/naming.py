"""Which fact a call means that names its entities by whatever name they have.

Protects what a reader sees: a fact that is shown under an alias can be ended under it. What is
recorded are the names that the fact stands under, so that a fold needs no alias, and one that says
something else later changes no history. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from domain.canonical import comparable
from domain.entities import Aliases
from domain.errors import Refused
from domain.facts import DEFAULT_WING
from domain.instants import ENDLESS
from domain.ports import Known, Stood


class Meant(NamedTuple):
    """What a statement is about, in the spelling in use."""

    wing: str
    subject: str
    object: str


def entity_of(known: Known, name: str, wing: str) -> str:
    """The entity that a name means in a wing, in the spelling in use; itself where it is no
    alias.
    """
    key = known.aliases([comparable(name)]).entity(comparable(name), comparable(wing))
    return known.spelling("subject", name if key == comparable(name) else key)


def meant(
    known: Known, wing: str | None, subject: str, predicate: str, object: str, at: int
) -> Meant:
    """The names under which a fact stands, and its wing where none is named.

    Of several the one that still holds at `at` (microseconds UTC), then the one that was named.

    Raises:
        Refused: `facts::ambiguous`, it stands in more than one wing.
    """
    asked = (comparable(subject), comparable(object))
    aliases = known.aliases(asked)
    found = [
        one
        for one in known.stood(
            aliases.names_anywhere(asked[0]), predicate, aliases.names_anywhere(asked[1])
        )
        if wing is None or comparable(one.wing) == comparable(wing)
        if _is_meant(one, asked, aliases)
    ]
    chosen = known.spelling("wing", wing) if wing is not None else _only_wing(known, found)
    there = [one for one in found if comparable(one.wing) == comparable(chosen)]
    if not there:
        return Meant(chosen, entity_of(known, subject, chosen), object)
    entity = aliases.entity(asked[0], comparable(chosen))
    best = min(
        there,
        key=lambda one: (
            one.until <= at,
            comparable(one.subject) != asked[0],
            comparable(one.subject) != entity,
            comparable(one.object) != asked[1],
            comparable(one.subject),
            comparable(one.object),
        ),
    )
    as_named = comparable(best.object) == asked[1]
    standing = known.spelling("subject", best.subject)
    return Meant(chosen, standing, object if as_named else best.object)


def _is_meant(one: Stood, asked: tuple[str, str], aliases: Aliases) -> bool:
    wing = comparable(one.wing)
    names = (comparable(one.subject), comparable(one.object))
    return all(name in aliases.names(said, wing) for name, said in zip(names, asked, strict=True))


def _only_wing(known: Known, found: Iterable[Stood]) -> str:
    """The wing in which the fact is open; where it is open in none, in which it ever stood."""
    found = list(found)
    opened = [one for one in found if one.until == ENDLESS]
    wings = {comparable(one.wing): one.wing for one in opened or found}
    if len(wings) > 1:
        named = ", ".join(wings[key] for key in sorted(wings))
        raise Refused(
            "facts::ambiguous",
            f"This fact stands in more than one wing: {named}.",
            "Name the wing.",
        )
    return next(iter(wings.values()), known.spelling("wing", DEFAULT_WING))
