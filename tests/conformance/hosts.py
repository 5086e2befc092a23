"""Runs the real agent hosts against what `palacelog integrate` writes, each in a home of its own.

`make hosts` installs them with npm into `.hosts/` and needs no account: in the place of a model
there is a deaf one, which notes what it is asked and refuses it. A host passes where it says by
itself that our server stands or is connected, where the memory of the session's start and our tools
reach the model, and where nothing of ours is left after `remove`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.command_line import ROOT, new_line
from tests.hosting import Host as Session
from tests.hosting import end_owner
from tests.hosts import COMMAND, MOVING

FOLDER: Final = ROOT / ".hosts"
PACKAGES: Final = {
    "node": "node@22.23.3",
    "claude-code": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "opencode": "opencode-ai@1.18.33",
    "pi": "@earendil-works/pi-coding-agent@1.6.0",
}
PLANTED: Final = "The marker is a heron on a roof."
SECONDS_MAX: Final = 180
QUIETLY: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "PALACELOG_HOOK_SECONDS": "60",
    "PALACELOG_VECTORS__EMBEDDER": "none",
    "PI_OFFLINE": "1",
}


class Model:
    """In the place of a model: it notes what it is asked, and refuses it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""

    def forgets(self) -> str:
        """What it was asked since this was asked last."""
        told, self.asked[:] = "\n".join(self.asked), []
        return told

    @contextmanager
    def listening(self) -> Iterator[Model]:
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                asked.append(self.rfile.read(length).decode("utf-8", "replace"))
                said = json.dumps({"type": "error", "error": {"message": "I am deaf."}}).encode()
                self.send_response(400)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            yield self
            server.shutdown()


class Host(NamedTuple):
    """How a host is asked.

    Attributes:
        configuration: files of a person, by name; `{url}` stands for the model's address.
        servers: what it is asked for its servers; None where it lists none.
        stands: what it says of ours.
        prompt: how it is given a prompt.
        tool: what it calls one of our tools.
        env: what it takes from the environment.
    """

    configuration: dict[str, str]
    servers: list[str] | None
    stands: str
    prompt: list[str]
    tool: str
    env: tuple[tuple[str, str], ...] = ()


HOSTS: Final = {
    "claude-code": Host(
        {".claude.json": '{"numStartups": 5}\n'},
        ["claude", "mcp", "list"],
        "Connected",
        ["claude", "-p", "Hello."],
        "mcp__palacelog__search",
        (
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "none"),
            ("ENABLE_TOOL_SEARCH", "false"),
        ),
    ),
    "codex": Host(
        {
            ".codex/config.toml": 'model = "deaf"\nmodel_provider = "deaf"\n\n'
            '[model_providers.deaf]\nname = "deaf"\nbase_url = "{url}"\nwire_api = "responses"\n'
        },
        ["codex", "mcp", "list"],
        "enabled",
        [
            "codex",
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "Hello.",
        ],
        "mcp__palacelog",
    ),
    "opencode": Host(
        {
            ".config/opencode/opencode.json": json.dumps(
                {
                    "$schema": "https://opencode.ai/config.json",
                    "provider": {
                        "deaf": {
                            "npm": "@ai-sdk/openai-compatible",
                            "options": {"baseURL": "{url}", "apiKey": "none"},
                            "models": {"deaf": {}},
                        }
                    },
                    "model": "deaf/deaf",
                    "small_model": "deaf/deaf",
                }
            )
        },
        ["opencode", "mcp", "list"],
        "connected",
        ["opencode", "run", "Hello."],
        "palacelog_search",
    ),
    "pi": Host(
        {
            ".pi/agent/models.json": json.dumps(
                {
                    "providers": {
                        "deaf": {
                            "baseUrl": "{url}",
                            "api": "anthropic-messages",
                            "apiKey": "none",
                            "models": [{"id": "deaf"}],
                        }
                    }
                }
            )
        },
        None,
        "",
        ["pi", "-p", "--provider", "deaf", "--model", "deaf", "Hello."],
        "palacelog_search",
    ),
}


class Person:
    """A person with a palace, a project and a host, in a folder."""

    def __init__(self, folder: Path, host: Host, bins: list[Path], url: str) -> None:
        self.folder, self._host = folder, host
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        # Where it is when nobody says, so that a shared file need not name it.
        self.palace = folder / ".palacelog"
        line = new_line(self.palace)
        line("add", PLANTED, "--wing", "project", "--room", "notes")
        kept = {name: value for name, value in os.environ.items() if name not in MOVING}
        path = os.pathsep.join(map(str, (COMMAND.parent, *bins, kept["PATH"])))
        told = {name: value.replace("{url}", url) for name, value in host.env}
        self._env = kept | QUIETLY | told | {"HOME": str(folder), "PATH": path}
        self._env["PWD"] = str(self.project)
        for name, text in host.configuration.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("{url}", url))

    def run(self, *words: str) -> str:
        """What a command says, on both streams."""
        done = subprocess.run(
            words,
            cwd=self.project,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
        )
        return done.stdout + done.stderr

    def integrate(self, *words: str) -> Any:
        return json.loads(self.run(str(COMMAND), "integrate", *words))

    def servers(self) -> str:
        return self.run(*self._host.servers) if self._host.servers else ""

    def left(self, name: str, scope: str) -> list[str]:
        """What `integrate remove` would still take out."""
        told = self.integrate("remove", name, "--scope", scope, "--dry-run")["changes"]
        return [one["file"] for one in told if one["action"] != "keep"]

    def configuration(self) -> dict[str, str]:
        """The files that the person wrote, as they are now; a host may note more in its own."""
        return {
            name: (self.folder / name).read_text()
            for name in self._host.configuration
            if name != ".claude.json"
        }


def install(name: str) -> None:
    """Have npm install a host of our list, where it is not there in that version."""
    package, folder = PACKAGES[name], FOLDER / name
    mark = folder / ".installed"
    if not mark.exists() or mark.read_text() != package:
        words = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent"]
        # npm takes older packages for an older Node.js than hosts ask for.
        node = FOLDER / "node" / "node_modules" / ".bin"
        env = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run([*words, package], check=True, env=env)
        mark.write_text(package)


def faults(name: str, scope: str, bins: list[Path]) -> list[str]:
    """What a real host does not take of what `palacelog integrate` wrote."""
    host, model = HOSTS[name], Model()
    with tempfile.TemporaryDirectory(prefix="home") as folder, model.listening():
        person = Person(Path(folder) / "home", host, bins, model.url)
        try:
            return list(_faults(person, model, name, scope))
        finally:
            end_owner(person.palace)


def _faults(person: Person, model: Model, name: str, scope: str) -> Iterator[str]:
    host = HOSTS[name]
    before = person.configuration()
    person.integrate("install", name, "--scope", scope)
    if not person.integrate("status", name, "--scope", scope)["current"]:
        yield "status does not call it current"
    if scope == "user" and host.stands not in (said := person.servers()):
        yield f"its list of servers says {said!r}"
    # Codex does not wait for a server that is still starting.
    with Session(person.palace) as session:
        session.begin()
    said = person.run(*host.prompt)
    asked = model.forgets()
    for what in (PLANTED, host.tool):
        if what not in asked:
            yield f"{what!r} did not reach the model: {said[-1500:]}"
    person.integrate("remove", name, "--scope", scope)
    if "palacelog" in (said := person.servers()).replace(str(person.folder), ""):
        yield f"after removal its list of servers says {said!r}"
    yield from (f"after removal {path} has something of ours" for path in person.left(name, scope))
    person.run(*host.prompt)
    if not (asked := model.forgets()) or PLANTED in asked or host.tool in asked:
        yield "after removal the model was asked nothing, or told of ours"
    if person.configuration() != before:
        yield f"after removal its files say {person.configuration()}"


def main() -> int:
    """Run every host, Claude Code also as a project shares it; 1 where anything failed."""
    wanted = sys.argv[1:] or list(HOSTS)
    for name in ("node", *wanted):
        install(name)
    bins = [FOLDER / name / "node_modules" / ".bin" for name in ("node", *wanted)]
    found: list[str] = []
    for name in wanted:
        for scope in ("user", "project") if name == "claude-code" else ("user",):
            told = faults(name, scope, bins)
            sys.stdout.write(f"{name}, {scope}: {'failed' if told else 'passed'}\n")
            found += [f"{name}, {scope}: {fault}" for fault in told]
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
