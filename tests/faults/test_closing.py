"""A palace is closed while others work with it: each gets an answer, and nobody crashes."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from domain.errors import PalaceError
from palacelog.bootstrap import House, create_palace, open_palace
from tests.faults.judging import sound
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
