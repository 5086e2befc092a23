"""The settings of a palace: a TOML file in its folder, overridden by the environment.

Protects against silent misconfiguration: an unknown key or a value that cannot be is an error that
names it. Settings decide how this process works; what changes the meaning of history is an
operation, never a setting.
"""

from __future__ import annotations

from contextvars import ContextVar
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from domain.canonical import comparable
from domain.errors import InvalidInput
from domain.gate import session_mode
from domain.instants import InstantError, zone_named
from domain.operation import Context
from projections.meaning import Steps

SETTINGS_FILE: Final = "settings.toml"
EMBEDDER_NONE: Final = "none"

# A class of settings for each folder would name the file too; making one takes as long as reading.
_file: ContextVar[Path | None] = ContextVar("_file", default=None)


class Audit(BaseModel):
    """What the audit trail keeps.

    Attributes:
        reads: `full` notes reads with their arguments and the ids that they saw, `digest` without,
            `off` not at all. Refusals are always noted.
        retention_days: how long; whole months are dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reads: Literal["full", "digest", "off"] = "full"
    retention_days: int = Field(90, ge=1, le=36_500)


class Memory(BaseModel):
    """How memory is kept.

    Attributes:
        mode: `flat` or `rich`; recorded in each event, and when it changes. It is of new memories
            only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["flat", "rich"] = "flat"


class VectorSettings(BaseModel):
    """How texts are embedded.

    Attributes:
        embedder: of a palace in which nothing was embedded yet: `minilm`, `wordllama`, the path of
            a folder, or `none`. Afterwards `reindex` changes it.
        wait_seconds: how long a search waits for texts that are being embedded.
        steps: which steps a search by words and meaning takes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedder: str = Field("minilm", min_length=1)
    wait_seconds: float = Field(2.0, ge=0, le=600)
    steps: Steps = Steps()


class Serving(BaseModel):
    """How a palace is served over HTTP.

    Attributes:
        host, port: where it listens; port 0 is any free one.
        allow_hosts: names that requests may be for, with a port or for any; needed off loopback.
        token_file: lines `sha256-hex name [mode]`, mode 0600; needed off loopback.
        tls_cert, tls_key: PEM files; with them it speaks TLS.
        calls_per_minute: of one token, or of one address.
        log_streams_max: live streams of the log at once.
        body_seconds: how long the body of a request may take.
        request_seconds: after that a call is answered as late; it runs on to its end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(8377, ge=0, le=65_535)
    allow_hosts: tuple[str, ...] = ()
    token_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    calls_per_minute: int = Field(6_000, ge=1)
    log_streams_max: int = Field(32, ge=0, le=10_000)
    body_seconds: float = Field(30.0, gt=0, le=3600)
    request_seconds: float = Field(120.0, gt=0, le=3600)


class Settings(BaseSettings):
    """How this process uses a palace.

    Attributes:
        zone: IANA zone of times without one; never the host's.
        role: `primary` knows all there is; on an `edge` a target that is missing may exist
            elsewhere.
        lock_timeout_seconds: how long a write waits for another process.
        session_mode: of calls that name none (also `--mode`, `PALACELOG_MODE`).
        local_wings: globs of wings that stay on this machine, looked at when a wing is first named.
        agent, client, session, principal: who calls, where the caller does not say.
        audit: what the audit trail keeps (`[audit]`, `PALACELOG_AUDIT__READS`).
        memory: how memory is kept (`[memory]`, `PALACELOG_MEMORY__MODE`).
        vectors: how texts are embedded (`[vectors]`, `PALACELOG_VECTORS__EMBEDDER`).
        serve: how it is served over HTTP (`[serve]`, `PALACELOG_SERVE__PORT`).
    """

    model_config = SettingsConfigDict(
        env_prefix="PALACELOG_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_by_name=True,  # in the file the mode is `session_mode`
        validate_by_alias=True,
    )

    zone: str = "UTC"
    role: Literal["primary", "edge"] = "primary"
    lock_timeout_seconds: float = Field(30.0, gt=0, le=3600)
    session_mode: str = Field("full", validation_alias="PALACELOG_MODE")
    local_wings: tuple[str, ...] = ()
    agent: str | None = None
    client: str | None = None
    session: str | None = None
    principal: str | None = None
    audit: Audit = Audit()
    memory: Memory = Memory()
    vectors: VectorSettings = VectorSettings()
    serve: Serving = Serving()

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            zone_named(name)
        except InstantError as error:
            raise ValueError(str(error)) from None
        return name

    def stays(self, wing: str) -> bool:
        """Whether a new wing of that name is local."""
        name = comparable(wing)
        return any(fnmatchcase(name, comparable(glob)) for glob in self.local_wings)

    @field_validator("session_mode")
    @classmethod
    def _known_mode(cls, mode: str) -> str:
        try:
            return session_mode(mode)
        except InvalidInput as error:
            raise ValueError(error.message) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What the caller passes, else the environment, else the file."""
        file = TomlConfigSettingsSource(settings_cls, _file.get())
        return init_settings, env_settings, file


def load(folder: Path, **given: Any) -> Settings:
    """The settings of a palace.

    Args:
        given: values that win over environment and file.

    Raises:
        InvalidInput: `palacelog::settings::invalid`, naming each key that is wrong.
    """

    before = _file.set(folder / SETTINGS_FILE)
    try:
        return Settings(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        named = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {_reason(one['msg'])}" for one in error.errors()
        )
        raise InvalidInput(
            "settings::invalid",
            f"The settings are not valid: {named}.",
            f"Correct {SETTINGS_FILE} in the palace's folder, or the variable in the environment.",
        ) from None
    except ValueError as error:
        raise InvalidInput(
            "settings::invalid",
            f"{SETTINGS_FILE} is not TOML: {error}.",
            f"Correct {SETTINGS_FILE} in the palace's folder.",
        ) from None
    finally:
        _file.reset(before)


def _reason(said: str) -> str:
    """The reason of a fault, without what pydantic puts before it."""
    return said.removeprefix("Value error, ").rstrip(".")


def who(settings: Settings) -> Context:
    """Who calls, where a call does not say."""
    return Context(
        agent=settings.agent,
        client=settings.client,
        session=settings.session,
        principal=settings.principal,
        session_mode=settings.session_mode,
        memory_mode=settings.memory.mode,
    )
