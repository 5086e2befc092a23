"""The socket of a palace is reached wherever it lies, and who is at its other end is named."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
from pathlib import Path

import pytest

from palacelog.owner import frames
from palacelog.owner.frames import SOCKET_FILE, address, connected, peer
from palacelog.owner.process import _listening

MACOS_BYTES_MAX = 103


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder whose name alone is longer than any system takes for a socket."""
    made = tmp_path / ("a" * 60) / ("ü" * 60)
    made.mkdir(parents=True)
    return made


@pytest.fixture
def without_descriptors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on macOS, where open folders have no names."""
    monkeypatch.setattr(frames, "_DESCRIPTORS", tmp_path / "none")


def reached(folder: Path) -> bool:
    with _listening(folder) as listening, connected(folder, 5.0) as joined:
        served, _ = listening.accept()
        with served:
            joined.sendall(b"?")
            return served.recv(1) == b"?" and peer(joined) == os.getpid()


def test_a_short_folder_is_named_as_it_is() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short, address(Path(short)) as path:
        assert path == f"{short}/{SOCKET_FILE}"


def test_a_palace_in_a_deep_folder_is_reached(deep: Path) -> None:
    assert reached(deep)


@pytest.mark.usefixtures("without_descriptors")
def test_so_it_is_where_open_folders_have_no_names(deep: Path) -> None:
    with address(deep) as path:
        assert len(os.fsencode(path)) <= MACOS_BYTES_MAX
        link = Path(path).parent
        assert link.resolve() == deep
    assert not link.parent.exists()
    assert reached(deep)
    assert (deep / SOCKET_FILE).is_socket()


@pytest.mark.usefixtures("without_descriptors")
def test_a_long_folder_for_temporary_files_is_passed_over(
    deep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with address(deep) as path:
        assert len(os.fsencode(path)) <= MACOS_BYTES_MAX


@pytest.mark.usefixtures("without_descriptors")
def test_a_folder_that_is_not_there_is_an_error(deep: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        connected(deep / "none", 5.0)


class OfMacos:
    """A connection that answers as the sockets of macOS do."""

    def __init__(self, process: int, user: int) -> None:
        self._process, self._user = process, user

    def getsockopt(self, level: int, option: int, length: int = 0) -> int | bytes:
        assert level == 0
        if option == 1:
            assert length == 76
            return struct.pack("=2Ih2x16I", 0, self._user, 1, *range(16))
        assert (option, length) == (2, 0)
        return self._process


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames.sys, "platform", "darwin")
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize(
    ("process", "user", "named"),
    [(77, os.getuid(), 77), (77, os.getuid() + 1, None), (0, os.getuid(), None)],
)
def test_on_macos_the_process_of_this_user_is_named(
    process: int, user: int, named: int | None
) -> None:
    joined: object = OfMacos(process, user)
    assert peer(joined) == named  # type: ignore[arg-type]
