"""The commands on jobs, and the one that mines a folder.

Protects a person's Ctrl-C: it pauses the job, whoever works on it, and nothing that was filed is
lost. A command that waits for a job works on it where nobody else does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from domain.errors import Incomplete, PalaceError, Refused
from palacelog.cli.failing import exit_code, report
from palacelog.cli.from_models import Form, Given, Run, add
from palacelog.cli.invocation import Invocation, asked_now
from palacelog.cli.memory import done, show
from palacelog.cli.output import counted
from palacelog.cli.progress import bar

if TYPE_CHECKING:
    from palacelog.bootstrap import House

app = typer.Typer(help="Look at jobs, and steer them.", no_args_is_help=True)
NoFollow = Annotated[
    bool,
    typer.Option("--no-follow", help="Leave it to a process that works, such as `serve`."),
]


def _mine(context: typer.Context, given: Given, no_follow: NoFollow = False) -> None:
    """File the texts of a folder, or one file, in a local wing; what is mined never travels.

    What git ignores is left alone, as are hidden folders, links, files that hold secrets, and what
    is no UTF-8. A second time, only what changed is filed. Ctrl-C pauses; the same command goes on.

    Examples:
      palacelog mine ~/notes
      palacelog mine . --wing atlas-papers --room drafts
    """
    invocation = asked_now(context)
    if given["path"]:
        with suppress(OSError):
            given["path"] = os.path.join(os.getcwd(), os.path.expanduser(given["path"]))
    with bar("Mining", unit="files") as progress, invocation.house() as house:
        answer = house.palace.call("mine", given, invocation.context(), progress)
        if answer["duplicate"] and answer["state"] == "paused":
            _steer(invocation, house, "job_resume", answer["job_id"])
        whole = answer if no_follow else answer | _followed(invocation, house, answer, progress)
    _show(context, invocation, whole)


def _resume(context: typer.Context, given: Given, no_follow: NoFollow = False) -> None:
    """Go on with a job that rests, until it is done.

    Example:
      palacelog jobs resume job_1ce4832ba1e386525d79a021
    """
    _go_on(context, "job_resume", given, no_follow=no_follow)


def _retry(context: typer.Context, given: Given, no_follow: NoFollow = False) -> None:
    """Take up a job that failed or was cancelled, until it is done.

    Example:
      palacelog jobs retry job_1ce4832ba1e386525d79a021
    """
    _go_on(context, "job_retry", given, no_follow=no_follow)


def _pause(context: typer.Context, given: Given) -> None:
    """Let a job rest until it is resumed, also over a restart.

    Example:
      palacelog jobs pause job_1ce4832ba1e386525d79a021
    """
    asked_now(context)
    done(context, "job_pause", given, "written")


def _cancel(
    context: typer.Context,
    given: Given,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for its worker.")] = False,
) -> None:
    """End a job. What it has filed stays.

    Examples:
      palacelog jobs cancel job_1ce4832ba1e386525d79a021
      palacelog undo --session job_1ce4832ba1e386525d79a021
    """
    asked_now(context)
    done(context, "job_force_cancel" if force else "job_cancel", given, "written")


def _list(context: typer.Context, given: Given) -> None:
    """List jobs, the newest request first.

    Example:
      palacelog jobs list --state running
    """
    done(context, "list_jobs", given)


def _show_one(context: typer.Context, given: Given) -> None:
    """Show a job, and what became of its files.

    Example:
      palacelog jobs show job_1ce4832ba1e386525d79a021 --outcome skipped
    """
    done(context, "show_job", given)


def _go_on(context: typer.Context, tool: str, given: Given, *, no_follow: bool) -> None:
    invocation = asked_now(context)
    with bar("Working", unit="files") as progress, invocation.house() as house:
        answer = house.palace.call(tool, given, invocation.context(), progress)
        if not no_follow and _files(house):
            answer |= _followed(invocation, house, answer, progress)
    _show(context, invocation, answer)


def _files(house: House) -> bool:
    """Whether this process may file anything, and show what it filed."""
    from domain.gate import FULL

    return house.settings.session_mode == FULL


def _followed(
    invocation: Invocation, house: House, answer: dict[str, Any], progress: Any
) -> dict[str, Any]:
    """How the job stands when it is over or rests."""
    from palacelog.working import follow

    id = answer["job_id"]
    try:
        line = follow(house.palace, house.worker, id, progress)
    except KeyboardInterrupt:
        with suppress(Refused):
            _steer(invocation, house, "job_pause", id)
        raise
    return {name: value for name, value in line.items() if name != "id"}


def _steer(invocation: Invocation, house: House, tool: str, id: str) -> None:
    house.palace.call(tool, {"job_id": id}, invocation.context())


def _show(context: typer.Context, invocation: Invocation, answer: dict[str, Any]) -> None:
    show(context, answer, "written")
    error = _incomplete(answer)
    if error is not None:
        report(error, as_json=invocation.as_json)
        raise typer.Exit(exit_code(error))


def _incomplete(answer: dict[str, Any]) -> PalaceError | None:
    """What is to be told of a job that was followed and did not do all."""
    id = answer["job_id"]
    if "failed" not in answer:
        return None
    if answer["state"] != "done":
        code = f" ({answer['code']})" if answer["code"] else ""
        cure = f"{answer['help']} " if answer["help"] else ""
        return Incomplete(
            "jobs::not_done",
            f"The job is {answer['state']}{code}.",
            f"{cure}`palacelog jobs show {id}` tells what it did.",
        )
    if answer["failed"]:
        return Incomplete(
            "mine::not_filed",
            f"{counted(answer['failed'], 'file')} could not be filed.",
            f"`palacelog jobs show {id} --outcome failed` says why; mine again to try again.",
        )
    return None


FORMS: Final[dict[str, tuple[Run, Form]]] = {"mine": (_mine, Form(("mine",), ("path",)))}
JOB_FORMS: Final[dict[str, tuple[Run, Form]]] = {
    "list": (_list, Form(("list_jobs",))),
    "show": (_show_one, Form(("show_job",), ("job_id",))),
    "pause": (_pause, Form(("job_pause",), ("job_id",))),
    "resume": (_resume, Form(("job_resume",), ("job_id",))),
    "cancel": (_cancel, Form(("job_cancel",), ("job_id",))),
    "retry": (_retry, Form(("job_retry",), ("job_id",))),
}


def add_to(parent: typer.Typer, panel: str) -> None:
    """Add these commands."""
    for name, (run, form) in FORMS.items():
        add(parent, name, run, form, panel=panel)
    for name, (run, form) in JOB_FORMS.items():
        add(app, name, run, form)
    parent.add_typer(app, name="jobs", rich_help_panel=panel)
