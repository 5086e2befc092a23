"""The files in fixtures/ are what the code that is here makes."""

from __future__ import annotations

import subprocess
import sys

from tests.command_line import ROOT


def test_fixtures_can_be_made_again_to_the_byte() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "fixtures" / "regenerate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
