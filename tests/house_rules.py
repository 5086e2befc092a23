"""The house rules, each a function from the text of a file to what it breaks, one line a fault.

They are written over text and not over files, so that each can be shown a text that breaks it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

PACKAGES = ("domain", "projections", "replay", "palacelog")
FILE_LINES = 400
FUNCTION_LINES = 60
LINE_LENGTH = 100

CLOCK_AND_CHANCE_HOME = "palacelog/system.py"
"""The one module that may read a clock or draw at random."""

_DEADLINE = "a deadline for a lock is about this process, and is in no event"
CLOCK_AND_CHANCE_EXCEPTIONS: dict[tuple[str, str], str] = {
    ("replay/write_lock.py", "time.monotonic"): _DEADLINE,
    ("palacelog/embedding_work.py", "time.monotonic"): _DEADLINE,
    ("palacelog/owner/pipe.py", "time.monotonic"): _DEADLINE,
    ("palacelog/owner/pipe.py", "time.sleep"): "nothing tells when a process starts to listen",
    ("replay/write_lock.py", "time.sleep"): "flock has no deadline of its own, so it is polled",
}
"""(file, name) to the reason why that file may use that name after all."""

_CLOCK_AND_CHANCE = {"time", "random", "uuid", "secrets"}
_OS_CHANCE = {"os.urandom", "os.getrandom"}
_NOW = re.compile(r"^datetime\.(datetime|date)\.(now|utcnow|today)$")
_BROAD = {"Exception", "BaseException"}
_LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_OUTSIDE = re.compile(
    rb"(?:pypi|crates)\.(?:org|io)\b|pythonhoste[d]|npmjs\.(?:org|com)|deb\.debian|anaconda\.org"
    rb"|(?<![\w.~-])/(?:work|root|home/[\w.-]+|Users/[\w.-]+)/|\b[A-Za-z]:\\+Users\\"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[str, str], list[str]]


@lru_cache(maxsize=512)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def long_file(path: str, source: str) -> list[str]:
    """A file stays under 400 lines."""
    lines = len(source.splitlines())
    return [f"{lines} lines, the limit is {FILE_LINES}"] if lines >= FILE_LINES else []


def long_function(path: str, source: str) -> list[str]:
    """A function stays under 60 lines, docstring included, decorators not."""
    return [
        f"{node.lineno}: {node.name} has {lines} lines, the limit is {FUNCTION_LINES}"
        for node in ast.walk(_tree(source))
        if isinstance(node, Function)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) >= FUNCTION_LINES
    ]


def wide_line(path: str, source: str) -> list[str]:
    """A line has at most 100 characters."""
    return [
        f"{number}: {len(line)} characters, the limit is {LINE_LENGTH}"
        for number, line in enumerate(source.splitlines(), 1)
        if len(line) > LINE_LENGTH
    ]


def missing_docstring(path: str, source: str) -> list[str]:
    """Every module, and every public class, function and method says what it is for."""
    tree = _tree(source)
    module = [] if ast.get_docstring(tree) else ["1: the module has no docstring"]
    return module + [
        f"{node.lineno}: {node.name} has no docstring"
        for node in _public(tree)
        if not ast.get_docstring(node)
    ]


def _public(parent: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | Function]:
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
            continue
        # An overload or a setter is explained by the function it belongs to.
        marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
        if not marks & {"overload", "setter"}:
            yield node
        if isinstance(node, ast.ClassDef):
            yield from _public(node)


def bare_except(path: str, source: str) -> list[str]:
    """No handler catches everything without saying so."""
    return [f"{node.lineno}: bare except" for node in _handlers(source) if node.type is None]


def swallowed_error(path: str, source: str) -> list[str]:
    """A projection that cannot fold stops; it never logs the error, or drops it, and goes on."""
    if not path.startswith("projections/"):
        return []
    handlers = [
        f"{node.lineno}: the error is swallowed"
        for node in _handlers(source)
        if (_is_broad(node.type) or _logs(node)) and not _raises(node)
    ]
    suppressed = [
        f"{node.lineno}: every error is suppressed"
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.Call)
        and _last_name(node.func) == "suppress"
        and any(_is_broad(argument) for argument in node.args)
    ]
    return handlers + suppressed


def _handlers(source: str) -> Iterator[ast.ExceptHandler]:
    return (node for node in ast.walk(_tree(source)) if isinstance(node, ast.ExceptHandler))


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _is_broad(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or _last_name(kind) in _BROAD for kind in kinds)


def _logs(handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _LOGGING
        and "log" in ast.unparse(node.func.value).lower()
        for node in ast.walk(handler)
    )


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def clock_or_chance(path: str, source: str) -> list[str]:
    """Clock and chance come from palacelog/system.py, so that a replay can do without them."""
    if path == CLOCK_AND_CHANCE_HOME:
        return []
    return [
        f"{line}: {name}"
        for line, name in clock_and_chance_uses(source)
        if (path, name) not in CLOCK_AND_CHANCE_EXCEPTIONS
    ]


def clock_and_chance_uses(source: str) -> list[tuple[int, str]]:
    """(line, full name) of each clock or source of chance that the text imports or touches."""
    aliases = _aliases(source)
    found = {(line, full) for line, full in aliases.values() if _is_source(full)}
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Attribute):
            head, _, rest = ast.unparse(node).partition(".")
            if head in aliases and _is_source(full := f"{aliases[head][1]}.{rest}"):
                found.add((node.lineno, full))
    # `import time` alone says nothing once the names that are taken from it are known.
    return sorted(
        (line, full)
        for line, full in found
        if not any(other.startswith(f"{full}.") for _, other in found)
    )


def _is_source(full: str) -> bool:
    return (
        full.partition(".")[0] in _CLOCK_AND_CHANCE or full in _OS_CHANCE or bool(_NOW.match(full))
    )


def _aliases(source: str) -> dict[str, tuple[int, str]]:
    """Local name to (line, full name), for each import in the text."""
    aliases = {}
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                full = name.name if name.asname else name.name.partition(".")[0]
                aliases[name.asname or full] = (node.lineno, full)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                aliases[name.asname or name.name] = (node.lineno, f"{node.module}.{name.name}")
    return aliases


def stray_print(path: str, source: str) -> list[str]:
    """Only the command line prints; standard output belongs to a protocol elsewhere."""
    if path.startswith("palacelog/cli/"):
        return []
    return [
        f"{node.lineno}: print"
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.Name) and node.id == "print"
    ]


def outside_world(content: bytes) -> list[str]:
    """No file names a package registry's host, or a folder of somebody's machine."""
    return [
        f"{number}: {match.group().decode()}"
        for number, line in enumerate(content.splitlines(), 1)
        for match in _OUTSIDE.finditer(line)
    ]


RULES: tuple[Rule, ...] = (
    long_file,
    long_function,
    wide_line,
    missing_docstring,
    bare_except,
    swallowed_error,
    clock_or_chance,
    stray_print,
)
