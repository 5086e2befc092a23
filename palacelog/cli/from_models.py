"""Commands whose options are made from what an operation asks for.

Protects against a second list of arguments: names, types, defaults and descriptions come from the
operations' models, so that a new argument is an option by itself. The models are loaded only when
such a command runs or explains itself. Knows no operation by name.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, Literal, NamedTuple

import typer
from typer.core import TyperCommand

from domain.errors import invalid
from palacelog.cli.completing import rooms, wings

Given = dict[str, Any]
Run = Callable[..., None]

ASKED_OTHERWISE: Final = frozenset({"as_of", "known_at", "dry_run"})
"""Not options of a command: the moments stand before it, and what is tried first is asked about."""
_COMPLETED: Final[dict[str, Callable[..., list[str]]]] = {"wing": wings, "room": rooms}
_PLAIN: Final[dict[str, type]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
}


@dataclass(frozen=True)
class Form:
    """How the arguments of operations become those of a command.

    Attributes:
        tools: the operations; of several, none of their arguments must be given.
        positional: the arguments that are told by their place, in order.
        optional: those that the command finds elsewhere where they are not given.
        left_out: those that the command finds elsewhere always.
        also: more names of an option.
    """

    tools: tuple[str, ...]
    positional: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Asked(NamedTuple):
    """One argument of an operation, as its schema describes it.

    Attributes:
        name: as the operation calls it.
        kind: `string`, `integer`, `number`, `boolean`, `time`, `list`, `json` or `choice`.
        choices: of a `choice`.
        default: as help shows it; None for none.
    """

    name: str
    kind: str
    choices: tuple[str, ...]
    needed: bool
    default: str | None
    meaning: str

    @property
    def variable(self) -> str:
        """The name as Python can have it."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


def add(app: typer.Typer, name: str, run: Run, form: Form, *, panel: str | None = None) -> None:
    """Add a command that is made when it is needed.

    Args:
        run: called with the context, what was given as arguments of the operations, and its own
            options; its docstring is the help.
    """

    class Made(_MadeLate):
        def make(self) -> TyperCommand:
            return _made(name, run, form)

    def nothing_yet() -> None: ...

    app.command(name, cls=Made, help=run.__doc__, rich_help_panel=panel)(nothing_yet)


class _MadeLate(TyperCommand):
    """A command with a name and a help text, whose options are made when somebody looks at them."""

    def make(self) -> TyperCommand:
        """The command with its options."""
        raise NotImplementedError

    @cached_property
    def _whole(self) -> TyperCommand:
        return self.make()

    @property
    def params(self) -> list[Any]:
        """The options and arguments."""
        return self._whole.params

    @params.setter
    def params(self, _: list[Any]) -> None:
        """Nothing: there are none before it is made."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        assert self._whole.callback is not None
        return ctx.invoke(self._whole.callback, **ctx.params)


def asked_by(form: Form) -> list[Asked]:
    """The arguments of a command's operations, each once, without those left out."""
    from domain.catalog import CATALOG

    found: dict[str, Asked] = {}
    for tool in form.tools:
        schema = CATALOG[tool].asks.model_json_schema()
        needed = schema.get("required", []) if len(form.tools) == 1 else []
        for name, part in schema["properties"].items():
            if name not in ASKED_OTHERWISE | form.left_out:
                must = name in needed and name not in form.optional
                found.setdefault(name, _asked(name, part, must))
    placed = [found.pop(name) for name in form.positional]
    of_its_own = CATALOG[form.tools[0]].asks.__annotations__
    return placed + sorted(
        found.values(), key=lambda one: (not one.needed, one.name not in of_its_own)
    )


def _asked(name: str, part: Mapping[str, Any], needed: bool) -> Asked:
    from domain.operations.common import TIME_WORDS

    [inner, *_] = [one for one in part.get("anyOf", [part]) if one.get("type") != "null"]
    of_strings = inner.get("type") == "array" and inner["items"].get("type") == "string"
    if "enum" in inner:
        kind = "choice"
    elif inner.get("type") == "string" and inner.get("description") == TIME_WORDS:
        kind = "time"
    elif of_strings:
        kind = "list"
    else:
        kind = inner["type"] if inner.get("type") in _PLAIN else "json"
    default = part.get("default")
    return Asked(
        name,
        kind,
        tuple(inner.get("enum", ())),
        needed,
        None if default is None or default is False else str(default).lower(),
        part.get("description", inner.get("description", "")),
    )


def _made(name: str, run: Run, form: Form) -> TyperCommand:
    """The command: its own options, and one for each argument of its operations."""
    arguments = asked_by(form)
    own = list(inspect.signature(run, eval_str=True).parameters.values())[2:]

    def called(**values: Any) -> None:
        context = values.pop("context")
        mine = {one.name: values.pop(one.name) for one in own}
        run(context, _given(arguments, values, form), **mine)

    parameters = [_keyword("context", typer.Context)]
    parameters += [_parameter(one, form) for one in arguments]
    parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, help=run.__doc__)(called)
    made = typer.main.get_command(app)
    assert isinstance(made, TyperCommand)
    return made


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _parameter(one: Asked, form: Form) -> inspect.Parameter:
    kind: Any = _PLAIN.get(one.kind, str)
    if one.kind == "choice":
        kind = Literal[one.choices]
    elif one.kind == "list":
        kind = list[str]
    shown: dict[str, Any] = {
        "help": one.meaning,
        "autocompletion": _COMPLETED.get(one.name),
        "metavar": {"time": "TIME", "json": "JSON"}.get(one.kind),
        "show_default": one.default or False,
    }
    if one.name in form.positional:
        if one.kind != "choice":
            shown["metavar"] = one.name.removesuffix("s" * (one.kind == "list")).upper()
        how = typer.Argument(**shown)
    else:
        names = [f"--{one.name.replace('_', '-')}", *form.also.get(one.name, ())]
        if one.kind == "boolean" and one.default is not None:
            names[0] += f"/--no-{one.name.replace('_', '-')}"
        how = typer.Option(*names, **shown)
    if one.needed:
        return _keyword(one.variable, Annotated[kind, how])
    return _keyword(one.variable, Annotated[kind | None, how], None)


def _given(arguments: Iterable[Asked], values: Mapping[str, Any], form: Form) -> Given:
    """What was given, as the operation takes it."""
    given: Given = {}
    for one in arguments:
        value = values[one.variable]
        if value is None or value == []:
            continue
        if one.kind == "json":
            value = _json(one.name, value)
        elif one.kind == "list" and one.name not in form.positional:
            value = [part for text in value for part in _parts(one.name, text)]
        given[one.name] = value
    return given


def _parts(name: str, text: str) -> list[Any]:
    """The values in one use of an option that takes many: separated by commas, or a JSON list."""
    if text.lstrip().startswith("["):
        found = _json(name, text)
        return found if isinstance(found, list) else [found]
    return [part for part in (one.strip() for one in text.split(",")) if part]


def _json(name: str, text: str) -> Any:
    from domain.canonical import NotStorable, read_json

    try:
        return read_json(text)
    except NotStorable as error:
        raise invalid(name, f"is no JSON: {error}", "Give JSON, in single quotes.") from None
