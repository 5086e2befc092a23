"""A palace is closed while others work with it: each gets an answer, and nobody crashes."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from domain.errors import PalaceError
from palacelog.bootstrap import House, create_palace, open_palace
from replay.rebuild import rebuild
from tests.faults.judging import refused, sound
from tests.faults.processes import Child, Report
from tests.faults.work import note, write

ROUNDS, THREADS = 12, 6


def close_while_reading(report: Report, folder: Path) -> None:
    """A crash would take the whole process: hence one of its own."""
    for number in range(ROUNDS):
        one_round(report, open_palace(folder), wait=number * 40)


def one_round(report: Report, house: House, wait: int) -> None:
    begun = threading.Barrier(THREADS + 1)

    def work(writes: bool) -> None:
        begun.wait()
        try:
            while True:
                house.palace.call("list_drawers", {"limit": 200})
                house.palace.call("show_operation", {"position": 5})
                if writes:
                    report.acknowledge(note(house, "meanwhile"))
        except PalaceError as error:
            report("ended with", error.code)

    workers = [threading.Thread(target=work, args=(one == 0,)) for one in range(THREADS)]
    closers = [threading.Thread(target=house.close) for _ in range(2)]
    for thread in workers:
        thread.start()
    begun.wait()
    for _ in range(wait):
        house.log.position()
    for thread in closers:
        thread.start()
    for thread in [*workers, *closers]:
        thread.join()


def test_closing_while_others_read_and_write_answers_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    with open_palace(folder) as house:
        write(house, "before", 40)
    with Child(close_while_reading, folder) as child:
        reported = child.finishes()
    ends = Counter(what for kind, what in reported if kind == "ended with")
    assert ends == {"palacelog::palace::closed": ROUNDS * THREADS}
    sound(folder, [what for kind, what in reported if kind == "acknowledged"])


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_threads_that_come_and_go_leave_no_descriptors(tmp_path: Path) -> None:
    """A host with a thread a request; once in a while the views are made again meanwhile."""
    create_palace(tmp_path / "ada", "ada")
    answers: list[int] = []
    with open_palace(tmp_path / "ada") as house:
        write(house, "before", 10)
        held = house.palace.call("list_drawers", {})["total"]

        def read() -> None:
            answers.append(house.palace.call("list_drawers", {})["total"])

        before = descriptors()
        for number in range(50):
            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            if number % 20 == 10:
                rebuild(house.log, house.generations, house.lock)
            for thread in threads:
                thread.join()
        assert descriptors() - before < 40
        read()
        [current] = {path for path in opened_views(tmp_path) if "(deleted)" not in path}
        assert current == str(house.generations.current())
    assert answers == [held] * 201
    assert not opened_views(tmp_path)


def opened_views(under: Path) -> list[str]:
    """The databases of views below a folder that this process has open."""
    links = []
    for one in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{one}"))
    found = re.compile(re.escape(str(under)) + r"/.*views-[0-9]{6}\.db( |$)")
    return [link for link in links if found.match(link)]


def test_a_reader_that_closes_the_palace_itself_reads_on_and_leaves_nothing_open(
    tmp_path: Path,
) -> None:
    create_palace(tmp_path / "ada", "ada")
    house = open_palace(tmp_path / "ada")
    write(house, "before", 3)
    with house.palace.reading() as reading:
        house.close()
        assert reading.cursor.execute("SELECT count(*) FROM operations").fetchone() == (3,)
    assert not opened_views(tmp_path)
    with refused("palace::closed"):
        house.palace.call("list_drawers", {})
