"""The command that changes which embedder search goes by.

Protects the person from surprises: what is to be done is told before it begins, and texts that have
no vectors are named. Holds no rule (see `palacelog.reindexing`).
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import invalid
from domain.gate import WRITE
from palacelog.cli import output
from palacelog.cli.failing import exit_code, report
from palacelog.cli.invocation import Invocation, asked_now
from palacelog.cli.progress import bar, busy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from palacelog.bootstrap import House
    from palacelog.embedding import Embedding
    from palacelog.reindexing import Change, Plan, Target


def reindex(
    context: typer.Context,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="minilm, wordllama or a folder; default: what the present one was named by."
        ),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Back to the embedder that counted before.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove the vectors of embedders that do not count.")
    ] = False,
    accept_failures: Annotated[
        bool,
        typer.Option("--accept-failures", help="Switch also where texts could not be embedded."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what there is to do, and do nothing.")
    ] = False,
) -> None:
    """Embed every text with another embedder, or with the same one where its vectors were lost.

    Searches go by the old vectors until the new ones are complete; then one event makes the switch.
    It can be stopped at any time and goes on where it was. A text that cannot be embedded is named
    and nothing is switched (exit code 5), unless that is accepted.

    After --prune, searches as of a moment before the change go by the embedder that counts now, and
    --undo embeds everything anew.

    Example:
      palacelog reindex --embedder wordllama
    """
    invocation = asked_now(context)
    from palacelog import reindexing

    if sum((embedder is not None, undo, prune)) > 1:
        raise invalid("--embedder", "--undo and --prune exclude each other", "Use one of them.")
    invocation.gate("reindex", WRITE)
    with _alone(invocation) as (house, embedding):
        if prune:
            _prune(invocation, house, embedding, dry_run=dry_run)
            return
        with busy("Looking at what is there"):
            target = _target(house, embedding, embedder, undo=undo)
            plan = reindexing.plan(house, target)
        if dry_run:
            output.show(invocation.as_json, plan._asdict() | {"dry_run": True})
            return
        _announce(plan)
        with busy("Opening the vectors"):
            change = reindexing.Change(house, embedding, target, invocation.context())
        _change(invocation, change, plan, accept_failures=accept_failures)


@contextmanager
def _alone(invocation: Invocation) -> Iterator[tuple[House, Embedding]]:
    from palacelog.reindexing import changing

    with invocation.house() as house, changing(house) as embedding:
        yield house, embedding


def _target(house: House, embedding: Embedding, name: str | None, *, undo: bool) -> Target:
    from palacelog import reindexing

    if undo:
        return reindexing.previous(house, embedding)
    return reindexing.named(house, embedding, name)


def _change(invocation: Invocation, change: Change, plan: Plan, *, accept_failures: bool) -> None:
    from palacelog.reindexing import incomplete

    with bar("Embedding", unit="texts") as progress:
        gained = change.embed(progress)
    with busy("Comparing with the log"):
        without = change.check()
    stopped = incomplete(without) if without and not accept_failures else None
    position = None
    if stopped is None:
        with bar("Embedding", unit="texts") as progress:
            position = change.switch(progress, accept_failures=accept_failures)
    document = plan._asdict() | {
        "embedded": gained,
        "failed": [one._asdict() for one in without],
        "switched": position is not None,
        "position": position,
    }
    output.show(invocation.as_json, document)
    if stopped is not None:
        report(stopped, as_json=invocation.as_json)
        raise typer.Exit(exit_code(stopped))


def _prune(invocation: Invocation, house: House, embedding: Embedding, *, dry_run: bool) -> None:
    from palacelog import reindexing

    gone = reindexing.removable(house) if dry_run else reindexing.prune(house, embedding)
    document = {
        "removed": [one._asdict() for one in gone],
        "bytes": sum(one.bytes for one in gone),
        "dry_run": dry_run,
    }
    output.show(invocation.as_json, document)


def _announce(plan: Plan) -> None:
    """Tell a person what is to be done."""
    if output.at_terminal(sys.stderr):
        missing = plan.texts - plan.cached
        line = f"{plan.embedder}: {output.counted(plan.texts, 'text')}, {missing} to embed."
        output.console(to_stderr=True).print(line, markup=False, highlight=False)
