"""The one module that reads the clock and draws at random.

Protects everything else from doing so: what needs the present or chance is given a `System`.
"""

from __future__ import annotations

import secrets
import time
import uuid

_DEVICE_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class System:
    """Clock and chance of this machine."""

    def now(self) -> int:
        """Microseconds UTC."""
        return time.time_ns() // 1_000

    def nonce(self) -> bytes:
        """16 random bytes."""
        return secrets.token_bytes(16)

    def log_id(self) -> str:
        """The identity of a new log."""
        return f"log_{uuid.uuid4().hex}"

    def palace_id(self) -> str:
        """The identity of a new palace."""
        return f"palace_{uuid.uuid4().hex}"

    def suffix(self) -> str:
        """Four random characters for a device name."""
        return "".join(secrets.choice(_DEVICE_LETTERS) for _ in range(4))
