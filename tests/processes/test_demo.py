"""The demo as a process is told in a pipe too, and soon."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.command_line import CommandLine

CPU_SECONDS_MAX = 20


def test_it_is_told_as_a_story_in_a_pipe_too_and_soon(tmp_path: Path) -> None:
    line = CommandLine(tmp_path / "palace", TMPDIR=str(tmp_path))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = line.process("demo")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.code == 0
    assert ended.err == b""
    told = ended.out.decode()
    assert "All 17 claims were checked and hold." in told
    assert told.count("✓") == 17
    assert "✗" not in told
    assert list(tmp_path.iterdir()) == []
    assert after.ru_utime - before.ru_utime < CPU_SECONDS_MAX
