"""Random histories of three devices and a primary, on real files through the real code.

Devices write, export, deliver, acknowledge and fetch; letters come late, twice, in part and in any
order; clocks jump a day back and a year ahead; palaces are reopened, rebuilt, restored from
backups. In between and at the end, when everything has reached everyone, the promises of DESIGN 14
are looked at. A history is its seed: `make simulate ARGS="--seed=SEED --histories=1"` tells it
again.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.simulation import checks
from tests.simulation.conftest import HISTORIES
from tests.simulation.history import History, Plan, planned, shrunk

HAPPENS = {
    "a call was refused",
    "a key was used again",
    "a letter came again",
    "a letter came too early",
    "a letter was cut off",
    "a device was restored",
    "a receipt was refused",
    "a receipt was recorded",
    "a stamp was bounded",
    "an answer about the past was asked again",
    "conflict single_value",
    "conflict superseded_twice",
    "conflict target_hidden",
    "conflict target_missing",
    "conflict tombstone_unknown",
    "replicas agree",
}
"""What must have happened in a hundred histories, or they prove little."""


def test_history(
    seed: int, folder: Path, seen: Counter[str], request: pytest.FixtureRequest
) -> None:
    plan = planned(seed)
    try:
        seen.update(tell(folder, seed, plan))
    except Exception as error:
        again = f"make simulate ARGS='--seed={seed} --histories=1'"
        error.add_note(f"{again}\n{plan[:-1]}, {len(plan.steps)} steps")
        if request.config.getoption("--shrink"):
            error.add_note("\n".join(map(str, smallest(seed, plan, error).steps)))
        raise


def test_enough_has_happened(seen: Counter[str], request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--histories") < HISTORIES:
        pytest.skip("too few histories to ask for everything")
    assert seen.keys() >= HAPPENS, f"never: {sorted(HAPPENS - seen.keys())}"
    compared = seen["replicas agree"] + seen["replicas know other stamps"]
    assert seen["replicas agree"] > 0.85 * compared, seen


def tell(folder: Path, seed: int, plan: Plan) -> Counter[str]:
    """Carry a plan out, heal it, and look at what is left; returns what happened."""
    history = History(folder, seed, plan)
    try:
        history.run()
        history.heal()
        _look(history, random.Random(seed))
        return history.seen
    finally:
        history.fleet.close()


def _look(history: History, chance: random.Random) -> None:
    fleet = history.fleet
    history.recall(None)
    shared = (one for one in history.answered.items() if one[1]["stream"] == "shared")
    checks.holds_once(fleet.primary, [op_id for op_id, _ in shared])
    for replica in fleet.everyone:
        checks.log_is_whole(replica)
        checks.folds_as_from_zero(replica)
        assert replica.call("status", {})["outbox"]["pending"] == 0 or replica is fleet.primary
    fresh = history.gathered(chance)
    try:
        agrees = checks.agree_where_they_must(fleet.primary, fresh, answers=True)
        assert agrees, "a gathered log has other stamps"
        checks.log_is_whole(fresh)
    finally:
        fresh.close()
    asked = chance.choice(fleet.devices)
    for device in fleet.devices:
        agrees = checks.agree_where_they_must(fleet.primary, device, answers=device is asked)
        history.seen["replicas agree" if agrees else "replicas know other stamps"] += 1
        assert agrees or history.plan.mesh or history.plan.jumps, "clocks were right, no detours"
    for replica in fleet.everyone:
        history.seen.update(f"conflict {kind}" for kind in checks.kinds_of_conflict(replica))
    verified = chance.choice(fleet.everyone)
    checks.verifies(verified)
    for replica in fleet.everyone:
        if replica is not verified:
            replica.rebuilt_equals_live()


def smallest(seed: int, plan: Plan, error: Exception) -> Plan:
    """The plan without the steps that its failure does not need."""
    kind = type(error), str(error)[:40]

    def fails(other: Plan) -> bool:
        with TemporaryDirectory() as place:
            try:
                tell(Path(place), seed, other)
            except Exception as found:  # noqa: BLE001 - whatever a history fails with
                return (type(found), str(found)[:40]) == kind
        return False

    return shrunk(plan, fails)
