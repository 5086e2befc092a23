"""The audit copy among several processes, and one that is killed or interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from domain.errors import PalaceError
from palacelog.auditing import Audit
from projections.audit.copy import COPY_FILE
from projections.audit.questions import Window
from tests.audited import everything, some_life
from tests.command_line import ROOT, CommandLine, new_line
from tests.palaces import Device, Fleet


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    return fleet.device("ada")


# Says so and waits where a copy is being made: before there is anything in it, in the midst of its
# rows, and where they all are.
HALTED = """
import sys
from palacelog.cli.main import app
from projections.audit import copy
from projections.audit.sources import Operations

def halt():
    print("there", flush=True)
    sys.stdin.read()

owner, name, when = {
    "empty": (copy, "_create", "before"),
    "half": (Operations, "catch_up", "after"),
    "full": (copy.AuditCopy, "_catch_up", "after"),
}[sys.argv.pop()]
work = getattr(owner, name)

def halting(*given):
    if when == "after":
        work(*given)
    halt()

setattr(owner, name, halting)
app()
"""


@pytest.mark.parametrize("where", ["empty", "half", "full"])
def test_a_copy_whose_making_was_killed_is_finished_by_the_next(ada: Device, where: str) -> None:
    some_life(ada)
    whole = everything(Audit(ada.house))
    (ada.folder / COPY_FILE).unlink()
    line = CommandLine(ada.folder)
    command = line.command("audit", where, script=HALTED)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=line.env()
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"there\n"
        killed.kill()
    assert (ada.folder / COPY_FILE).exists()
    assert everything(Audit(ada.house)) == whole


def test_another_program_that_has_the_file_open_is_named(ada: Device) -> None:
    audit = Audit(ada.house)
    audit.activity(Window(), agents=True)
    script = (
        "import duckdb, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(ada.folder / COPY_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(PalaceError) as caught:
            audit.activity(Window(), agents=True)
        other.communicate()
    assert caught.value.code == "palacelog::audit::busy"
    assert audit.activity(Window(), agents=True)["devices"] == []


def test_two_processes_at_once_both_get_their_answer(ada: Device) -> None:
    some_life(ada)
    command = [
        sys.executable, "-m", "palacelog.cli.main", "--palace", str(ada.folder),
        "audit", "sql", "SELECT count(*) FROM operations",
    ]  # fmt: skip
    env = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    asking = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        for _ in range(2)
    ]
    for one in asking:
        out, err = one.communicate(timeout=60)
        assert one.returncode == 0, err
        assert orjson.loads(out)["rows"] == [[11]]


# Interrupts itself as Ctrl-C does, once the question has taken some of the processor's time; again,
# as a person would, where it does not end.
INTERRUPTED = """
import os
import signal
import threading

# Before there are other threads, so that it reaches none of them.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])

from projections.audit import copy
from palacelog.cli.main import app

def interrupt():
    while True:
        signal.sigwait([signal.SIGPROF])
        os.kill(os.getpid(), signal.SIGINT)

def asking(connection, question):
    threading.Thread(target=interrupt, daemon=True).start()
    signal.setitimer(signal.ITIMER_PROF, 0.3, 10)
    return waited_for(connection, question)

waited_for, copy._waited_for = copy._waited_for, asking
app()
"""


def test_a_question_that_takes_too_long_can_be_stopped(tmp_path: Path) -> None:
    line = new_line(tmp_path / "palace")
    query = "SELECT count(*) FROM range(100000000000000) t(a) WHERE a % 7 = 3"
    command = line.command("audit", "sql", query, script=INTERRUPTED)
    asking = subprocess.run(command, capture_output=True, env=line.env(), timeout=90, check=False)
    assert (asking.returncode, asking.stdout) == (130, b"")
    assert orjson.loads(asking.stderr)["code"] == "palacelog::cli::interrupted"
