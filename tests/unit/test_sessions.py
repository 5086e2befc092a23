"""A session: the mode that it goes on with, and the key of a write that brings none."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.operation import Context
from palacelog.caller import Report, silent
from palacelog.sessions import Session

AT_MOST_SECONDS = 0.2


class Echo:
    """Answers with what it was asked."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: Context | None = None,
        report: Report = silent,
    ) -> dict[str, Any]:
        assert context is not None
        return {"session_mode": arguments.get("mode"), "arguments": arguments, "context": context}


def session(ceiling: str = "full", **how: Any) -> Session:
    return Session(Echo(), Context(session_mode=ceiling), remembers=True, **how)


def test_what_was_chosen_before_holds_as_far_as_the_ceiling_allows() -> None:
    assert session("full", chosen="read_only").context.session_mode == "read_only"
    lowered = session("read_only", chosen="full").context
    assert (lowered.session_mode, lowered.ceiling) == ("read_only", "read_only")
    assert session("read_only", chosen="disabled").context.ceiling == "read_only"
    with pytest.raises(InvalidInput):
        session(chosen="off")


def test_whoever_is_told_of_modes_is_told_the_one_that_holds_last() -> None:
    told: list[str] = []
    others: list[threading.Thread] = []

    def changed(mode: str) -> None:
        if mode == "read_only":
            other = threading.Thread(target=made.call, args=("set_mode", {"mode": "disabled"}))
            others.append(other)
            other.start()
            other.join(AT_MOST_SECONDS)
        told.append(mode)

    made = session(changed=changed)
    made.call("set_mode", {"mode": "read_only"})
    for other in others:
        other.join()
    assert told == ["read_only", "disabled"]
    assert made.context.session_mode == "disabled"


@pytest.mark.parametrize("given", [{}, {"idempotency_key": None}])
def test_a_write_without_a_key_takes_that_of_its_line(given: dict[str, Any]) -> None:
    asked = session().call("add_drawer", {"wing": "w"} | given, key="line-1")["arguments"]
    assert asked == {"wing": "w", "idempotency_key": "line-1"}


def test_a_write_keeps_its_own_key_and_a_read_takes_none() -> None:
    kept = session().call("add_drawer", {"idempotency_key": "mine"}, key="line-1")
    assert kept["arguments"] == {"idempotency_key": "mine"}
    assert session().call("list_wings", {}, key="line-1")["arguments"] == {}


def test_the_first_that_names_the_client_counts() -> None:
    made = session()
    made.name("host/1")
    made.name("other/2")
    assert made.context.client == "host/1"
