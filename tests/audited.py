"""A palace to ask the audit about, and all that its copy holds."""

from __future__ import annotations

from typing import Any

from palacelog.auditing import Audit
from projections.audit.schema import tables
from tests.palaces import Device


def everything(audit: Audit) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, sorted."""

    def question(connection: Any) -> dict[str, Any]:
        found = {name: connection.execute(f"FROM stored.{name}").fetchall() for name in tables()}
        return {name: sorted(rows, key=repr) for name, rows in found.items()}

    return audit.ask(question)


def some_life(ada: Device) -> None:
    """Texts and facts that were changed, ended and hidden."""
    first = ada.add_drawer(
        wing="atlas", room="plans", content="Ship in June.", tags=["plan"],
        valid_from="2026-01-01",
    )  # fmt: skip
    second = ada.update_drawer(drawer_id=first["drawer_id"], content="Ship in July.")
    ada.supersede_drawer(
        drawer_id=second["drawer_id"], content="Ship in May.", valid_from="2026-05-01"
    )
    gone = ada.add_drawer(wing="atlas", room="plans", content="Nobody needs this.")
    ada.delete_drawer(drawer_id=gone["drawer_id"])
    ada.add_drawer(
        wing="home", room="garden", content="'; DROP TABLE operations; -- Ünïcode 猫",
        valid_from="2026-01-01", valid_to="2026-03-01",
    )  # fmt: skip
    ada.kg_add(subject="atlas", predicate="cache", object="SQLite", valid_from="2026-01-05")
    ada.kg_supersede(
        subject="atlas", predicate="cache", old_object="SQLite", new_object="Redis",
        at="2026-03-02",
    )  # fmt: skip
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", valid_from="2026-01-01")
    ada.kg_add(subject="Kiran", predicate="city", object="Nice", valid_from="2026-02-01")
    ada.kg_declare_predicate(predicate="city", cardinality="one")
