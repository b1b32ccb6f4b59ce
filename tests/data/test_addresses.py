from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.location import redacted, redacted_argument
from isoscope.data.postgres.connection import parse_address
from isoscope.errors import UsageError


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://h/db?table=t", "postgresql://h/db?table=t"),
        ("postgresql://me:pw@h:5432/db?table=t&column=c&id=k", "postgresql://h:5432/db?table=t&column=c&id=k"),
        ("postgres://me@h/db?table=t", "postgres://h/db?table=t"),
        ("postgresql://me:p@w@h/db?table=t", "postgresql://h/db?table=t"),
        ("postgresql://me:p/w@h/db?table=t", "postgresql://h/db?table=t"),
        ("postgresql://me:pw@[::1]:5/db?table=t", "postgresql://[::1]:5/db?table=t"),
        ("postgresql://me:pw@a:1,b:2/db?table=t", "postgresql://a:1,b:2/db?table=t"),
        ("postgresql:///db?host=/run&user=me&password=pw&table=t", "postgresql:///db?host=/run&table=t"),
        ("postgresql://h/db?sslmode=require&sslpassword=pw&options=x", "postgresql://h/db?sslmode=require"),
        ("postgresql://me:p?w@h/db?table=t", "postgresql://…"),
        ("postgresql://me:pw/db?table=t", "postgresql://…"),
        ("ftp://me:pw@h/x.npy", "ftp://h/x.npy"),
        ("ftp://me:p/w@h/x.npy", "ftp://…"),
        ("https://h/x.npy?X-Amz-Signature=secret", "https://h/x.npy"),
        ("s3://bucket/part-?.npy", "s3://bucket/part-?.npy"),
        ("s3://bucket/a@b.npy", "s3://bucket/a@b.npy"),
        ("package:glove", "package:glove"),
    ],
)  # fmt: skip
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert redacted(address) == shown
    assert redacted_argument(f"--out={address}") == f"--out={shown}"


def test_other_arguments_stay_as_they_are() -> None:
    for argument in ("measure", "x.npy", "--column=a@b", "mean_cosine>0.6", "a:b@c"):
        assert redacted_argument(argument) == argument


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=4, max_size=12))
def test_no_password_is_shown(password: str) -> None:
    """Whatever signs it has, whether or not they are encoded as they should be."""
    secret = f"Zq{password}Zq"
    for address in (
        f"postgresql://me:{secret}@h/db?table=t",
        f"postgresql://{secret}@h/db?table=t",
        f"postgresql://h/db?table=t&password={secret}",
    ):
        shown = redacted(address)
        assert "Zq" not in shown.partition("&")[0]
        assert secret not in shown


def test_own_parameters_are_taken_out() -> None:
    found = parse_address(
        "postgresql://me:pw@h/db?sslmode=require&table=a.b%26c&id=k+l&user=x", "v"
    )
    assert found.connection == "postgresql://me:pw@h/db?sslmode=require&user=x"
    assert (found.table, found.column, found.id) == ("a.b&c", "v", "k+l")
    assert "pw" not in repr(found)


def test_addresses_that_say_too_little_or_too_much() -> None:
    with pytest.raises(UsageError, match="names no table; write postgresql://host"):
        parse_address("postgresql://me:pw@h/db")
    with pytest.raises(UsageError, match="names table twice"):
        parse_address("postgresql://h/db?table=a&table=b")


def test_without_psycopg() -> None:
    code = "import sys, isoscope; sys.modules['psycopg'] = None; isoscope.open_cloud(sys.argv[1])"
    call = [sys.executable, "-c", code, "postgresql://me:secret@h/db?table=t"]
    done = subprocess.run(call, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "psycopg, which is not installed; pip install 'isoscope[search]'" in last
    assert "secret" not in done.stderr
