"""The commands on facts and on conflicts.

Protects nothing by itself: each does one operation, whose model says what it takes.
"""

from __future__ import annotations

from typing import Final

import typer

from palacelog.cli.from_models import Form, Given, Run, add
from palacelog.cli.memory import done

app = typer.Typer(help="State facts, ask about them, and settle conflicts.", no_args_is_help=True)


def _add(context: typer.Context, given: Given) -> None:
    """Assert a fact, with when it is true.

    Example:
      palacelog kg add atlas cache SQLite --valid-from 2026-01-05
    """
    done(context, "kg_add", given, "written")


def _query(context: typer.Context, given: Given) -> None:
    """Show what is true of an entity, now or at any moment.

    Examples:
      palacelog kg query atlas
      palacelog --as-of 2026-02-15 kg query atlas --predicate cache
    """
    done(context, "kg_query", given)


def _timeline(context: typer.Context, given: Given) -> None:
    """Show facts in the order in which they became true.

    Example:
      palacelog kg timeline atlas
    """
    done(context, "kg_timeline", given)


def _invalidate(context: typer.Context, given: Given) -> None:
    """Say that a fact is true no longer.

    Example:
      palacelog kg invalidate atlas cache SQLite --ended 2026-03-01
    """
    done(context, "kg_invalidate", given, "written")


def _supersede(context: typer.Context, given: Given) -> None:
    """Put one object in another's place.

    Example:
      palacelog kg supersede atlas cache SQLite Redis --at 2026-03-02
    """
    done(context, "kg_supersede", given, "written")


def _declare(context: typer.Context, given: Given) -> None:
    """Say whether a predicate has one value at a time, or many.

    Example:
      palacelog kg declare cache one
    """
    done(context, "kg_declare_predicate", given, "written")


def _conflicts(context: typer.Context, given: Given) -> None:
    """List what devices did that cannot both have its way.

    Examples:
      palacelog kg conflicts
      palacelog kg conflicts --no-open
    """
    done(context, "list_conflicts", given)


def _resolve(context: typer.Context, given: Given) -> None:
    """Say that a conflict is settled, and how. Neither side of it is changed.

    Example:
      palacelog kg resolve conflict_1a34f028a3a1803bc1c5008a "Redis it is."
    """
    done(context, "resolve_conflict", given, "written")


_WHAT: Final = ("subject", "predicate")
FORMS: Final[dict[str, tuple[Run, Form]]] = {
    "add": (_add, Form(("kg_add",), (*_WHAT, "object"))),
    "query": (_query, Form(("kg_query",), ("entity",))),
    "timeline": (_timeline, Form(("kg_timeline",), ("entity",))),
    "invalidate": (_invalidate, Form(("kg_invalidate",), (*_WHAT, "object"))),
    "supersede": (_supersede, Form(("kg_supersede",), (*_WHAT, "old_object", "new_object"))),
    "declare": (_declare, Form(("kg_declare_predicate",), ("predicate", "cardinality"))),
    "conflicts": (_conflicts, Form(("list_conflicts",))),
    "resolve": (_resolve, Form(("resolve_conflict",), ("conflict_id", "resolution"))),
}
for _name, (_run, _form) in FORMS.items():
    add(app, _name, _run, _form)
