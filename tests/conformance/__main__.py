"""Runs the official conformance suite of the Model Context Protocol against our server.

The real server passes every scenario that needs nothing of a server but the protocol. With the
suite's fixtures in it, it passes all that each revision requires; nothing is expected to fail. The
inspector of the protocol lists and calls tools, over pipes and over HTTP.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from mcp.shared.exceptions import MCPDeprecationWarning

from palacelog.bootstrap import create_palace, open_palace
from palacelog.mcp.server import make_server
from tests.command_line import new_line
from tests.conformance import inspector
from tests.conformance.fixtures import with_fixtures
from tests.served import serving

HERE: Final = Path(__file__).parent
MODULES: Final = HERE / "node_modules"
NODE: Final = MODULES / ".bin" / "node"
SUITE: Final = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
WITHOUT_FIXTURES: Final = {
    "2025-11-25": {
        "server-initialize",
        "logging-set-level",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "server-session-lifecycle",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "caching",
        "input-required-result-unsupported-methods",
        "http-header-validation",
    },
}
"""The scenarios of each revision that name no tool, resource or prompt of a fixture."""
SECONDS_MAX: Final = 300
PASSED: Final = {"SUCCESS", "INFO", "SKIPPED"}
NEEDS_FIXTURES: Final = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
}
"""The checks of `server-stateless` that call a tool of a fixture."""


@contextmanager
def real_server() -> Iterator[str]:
    """The address of `palacelog serve` on a new palace."""
    with tempfile.TemporaryDirectory() as folder:
        line = new_line(Path(folder) / "palace", PALACELOG_VECTORS__EMBEDDER="none")
        command = line.command("--json", "serve", "--port", "0")
        quietly = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=line.env(), **quietly) as process:
            assert process.stdout is not None
            try:
                ready = b"".join(iter(process.stdout.readline, b"}\n")) + b"}"
                yield f"{json.loads(ready)['url']}/mcp"
            finally:
                process.terminate()


@contextmanager
def with_all_fixtures() -> Iterator[str]:
    """The address of the same, in this process, with the suite's fixtures in it."""
    added = patch(
        "palacelog.mcp.http.make_server", lambda *given: with_fixtures(make_server(*given))
    )
    with tempfile.TemporaryDirectory() as folder, added:
        create_palace(Path(folder) / "palace", "conformance")
        with open_palace(Path(folder) / "palace") as house, serving(house) as served:
            yield f"{served.url}/mcp"


def outcomes(url: str, revision: str) -> tuple[int, str, dict[str, dict[str, str]]]:
    """Run what a revision requires: exit code, what was said, and for each scenario its checks that
    did not pass, with the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [NODE, SUITE, "server", "--url", url, "--requirements", revision, "-o", folder]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
        )
        failed = {}
        for path in sorted(Path(folder).glob("server-*/checks.json")):
            # The folder's name ends with an instant: 2026-11-30T13-31-29-388Z.
            scenario = path.parent.name.removeprefix("server-")[:-25]
            failed[scenario] = {
                one["id"]: one.get("errorMessage", one["status"])
                for one in json.loads(path.read_text("utf-8"))
                if one["status"] not in PASSED
            }
    return done.returncode, done.stdout + done.stderr, failed


def faults_of_the_real_server(revision: str) -> list[str]:
    """What the real server fails of what needs no fixture."""
    with real_server() as url:
        _, said, failed = outcomes(url, revision)
    missing = WITHOUT_FIXTURES[revision] - failed.keys()
    if missing:
        return [f"{scenario} was not run: {said[-500:]}" for scenario in sorted(missing)]
    return [
        f"{name}: {check}: {reason}"
        for name in sorted(WITHOUT_FIXTURES[revision])
        for check, reason in failed[name].items()
        if check not in NEEDS_FIXTURES
    ]


def faults_with_all_fixtures(revision: str) -> list[str]:
    """What the server with the suite's fixtures fails of what the revision requires."""
    with with_all_fixtures() as url:
        code, said, _ = outcomes(url, revision)
    return [said] if code != 0 else []


def faults_over_http() -> list[str]:
    """What the inspector does not get of `palacelog serve`."""
    with real_server() as url:
        return inspector.faults(NODE, [url])


def faults_over_pipes() -> list[str]:
    """What the inspector does not get of `palacelog mcp`."""
    with tempfile.TemporaryDirectory() as folder:
        line = new_line(Path(folder) / "palace")
        command = line.command("mcp", "--in-process")
        return inspector.faults(NODE, command)


_RUNS: Final = {
    "real server": faults_of_the_real_server,
    "with fixtures": faults_with_all_fixtures,
}


def main() -> int:
    """Run both revisions both ways; 1 where anything failed."""
    # The suite asks for what the newest revision gave up.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    faults = []
    for revision in REVISIONS:
        for name, run in _RUNS.items():
            found = run(revision)
            sys.stdout.write(f"{revision} {name}: {'failed' if found else 'passed'}\n")
            faults += found
    for name, inspect in (("pipes", faults_over_pipes), ("HTTP", faults_over_http)):
        found = inspect()
        sys.stdout.write(f"inspector over {name}: {'failed' if found else 'passed'}\n")
        faults += found
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
