"""The way into the command line that is there before anything is loaded.

Protects who stops a command while it still loads: a message and an exit code, never a traceback.
"""

from __future__ import annotations

import sys

from palacelog.loading import loading

INTERRUPTED_LINE = (
    '{"error":"Interrupted.","code":"palacelog::cli::interrupted",'
    '"help":"Nothing had begun; run the command again."}\n'
)


def run() -> None:
    """Load the command line and run it; a host that waits for its hook is served without."""
    try:
        from palacelog.hosts.running import as_written
        from palacelog.hosts.running import run as run_hook

        event = as_written(sys.argv[1:])
        if event is not None:
            run_hook(event)
            return
        with loading():
            from palacelog.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        at_terminal = sys.stderr is not None and sys.stderr.isatty()
        if sys.stderr is not None:
            sys.stderr.write("Interrupted.\n" if at_terminal else INTERRUPTED_LINE)
        sys.exit(130)


if __name__ == "__main__":
    run()
