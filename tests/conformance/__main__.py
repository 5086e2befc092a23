"""Runs the official conformance suite of the Model Context Protocol against our server.

The real server passes every scenario that needs nothing of a server but the protocol. With the
suite's fixtures in it, it passes all that each revision requires; nothing is expected to fail.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvicorn
from mcp.shared.exceptions import MCPDeprecationWarning

from domain.operation import Context
from palacelog.bootstrap import create_palace, open_palace
from palacelog.mcp.server import make_server
from palacelog.sessions import Session
from tests.conformance.fixtures import with_fixtures

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
PASSED: Final = {"SUCCESS", "INFO", "SKIPPED"}
NEEDS_FIXTURES: Final = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
}
"""The checks of `server-stateless` that call a tool of a fixture."""


@contextmanager
def serving(*, fixtures: bool) -> Iterator[str]:
    """The address of our server on a new palace."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listening:
        create_palace(Path(folder) / "palace", "conformance")
        with open_palace(Path(folder) / "palace") as house:
            session = Session(house.palace, Context(client="conformance"), remembers=False)
            server = make_server(lambda _: session, "core")
            app = (with_fixtures(server) if fixtures else server).streamable_http_app()
            listening.bind(("127.0.0.1", 0))
            running = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
            thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
            thread.start()
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                running.should_exit = True
                thread.join()


def outcomes(url: str, revision: str) -> tuple[int, str, dict[str, dict[str, str]]]:
    """Run what a revision requires: exit code, what was said, and for each scenario its checks that
    did not pass, with the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [NODE, SUITE, "server", "--url", url, "--requirements", revision, "-o", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
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


def real_server(revision: str) -> list[str]:
    """What the real server fails of what needs no fixture."""
    with serving(fixtures=False) as url:
        _, said, failed = outcomes(url, revision)
    missing = WITHOUT_FIXTURES[revision] - failed.keys()
    if missing:
        return [f"{scenario} was not run: {said[-500:]}" for scenario in sorted(missing)]
    faults = {name: failed[name] for name in WITHOUT_FIXTURES[revision]}
    if "server-stateless" in failed:
        stateless = failed["server-stateless"].items()
        faults["server-stateless"] = {
            check: reason for check, reason in stateless if check not in NEEDS_FIXTURES
        }
    return [
        f"{name}: {check}: {reason}"
        for name, checks in faults.items()
        for check, reason in checks.items()
    ]


def with_all_fixtures(revision: str) -> list[str]:
    """What the server with the suite's fixtures fails of what the revision requires."""
    with serving(fixtures=True) as url:
        code, said, _ = outcomes(url, revision)
    return [said] if code != 0 else []


def main() -> int:
    """Run both revisions both ways; 1 where anything failed."""
    # The suite asks for what the newest revision gave up.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    faults = []
    for revision in REVISIONS:
        for name, run in (("real server", real_server), ("with fixtures", with_all_fixtures)):
            found = run(revision)
            sys.stdout.write(f"{revision} {name}: {'failed' if found else 'passed'}\n")
            faults += found
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
