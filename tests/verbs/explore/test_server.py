"""The application as a browser, and as somebody else, meets it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from explored_for_tests import MARKUP, ROWS, WIDTH, small, small_spaces

from isoscope.verbs.explore.session import CORRECTIONS, MEASURES, Spaces

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from isoscope.verbs.explore.server import FILES, make_app

PORT, TOKEN = 8765, "a-token-of-this_test"
API = ("about", "points", "neighbours?word=twice", "measures")


@pytest.fixture(scope="module")
def spaces() -> Spaces:
    return small_spaces()


@pytest.fixture(scope="module")
def client(spaces: Spaces) -> TestClient:
    return TestClient(make_app(spaces, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}")


def get(client: TestClient, name: str, **parameters: Any) -> Any:
    answer = client.get(f"/{TOKEN}/api/{name}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", ["", "explore.css", "explore.js", "scatter.js", *API])
def test_without_the_token_nothing_is_answered(client: TestClient, path: str) -> None:
    path = f"api/{path}" if path in API else path
    assert client.get(f"/{TOKEN}/{path}").status_code == 200
    for prefix in ("", "another", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), f"x/{TOKEN}"):
        refused = client.get(f"/{prefix}/{path}".replace("//", "/"))
        assert refused.status_code == 403
        assert list(refused.json()) == ["error"]
    assert client.get(f"/{path}", params={"token": TOKEN}).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"localhost:{PORT}", 200),
        (f"LOCALHOST:{PORT}", 200),
        ("127.0.0.1", 421),
        ("localhost:80", 421),
        (f"evil.example:{PORT}", 421),
        (f"127.0.0.1.evil.example:{PORT}", 421),
        (f"127.0.0.1:{PORT}0", 421),
        ("", 421),
    ],
)
def test_other_names_of_the_host_are_refused(client: TestClient, host: str, status: int) -> None:
    for path in ("", "api/about", "explore.js"):
        assert client.get(f"/{TOKEN}/{path}", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_nothing_can_be_sent(client: TestClient, method: str) -> None:
    for path in ("", "api/about", "api/points", "nowhere"):
        assert client.request(method, f"/{TOKEN}/{path}").status_code == 405


@pytest.mark.parametrize("path", [f"/{TOKEN}/", f"/{TOKEN}/api/about", f"/{TOKEN}/x", "/"])
def test_every_answer_forbids_what_the_page_does_not_need(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_the_page_holds_no_data_and_nothing_inline(client: TestClient) -> None:
    page = client.get(f"/{TOKEN}/")
    assert page.headers["content-type"].startswith("text/html")
    for word in ("twice", MARKUP, "small", TOKEN):
        assert word not in page.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page.text)
    assert not re.search(r"<style|\sstyle=|\son\w+=", page.text)
    assert not re.search(r"(src|href)=\"(https?:)?//", page.text)


def test_scripts_never_make_markup_and_ask_nobody_else(client: TestClient) -> None:
    for name in FILES:
        if name.endswith(".js"):
            script = client.get(f"/{TOKEN}/{name}").text
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                         "http:", "https:", "localStorage", "cookie"):  # fmt: skip
                assert word not in script, f"{name}: {word}"


def test_about(client: TestClient, spaces: Spaces) -> None:
    about = get(client, "about")
    assert about["name"] == "small"
    assert about["rows"] == ROWS
    assert about["layers"] == [{"name": "first", "width": WIDTH}, {"name": "last", "width": WIDTH}]
    assert about["layer"] == "last"
    assert [one["name"] for one in about["corrections"]] == list(CORRECTIONS)
    assert all(one["summary"] for one in about["corrections"])
    assert about["colours"] == ["nothing", "length", "order"]
    assert about["shown"]["rows"] == spaces.shown.tolist()
    words = [spaces.explored.words[row] for row in about["shown"]["rows"]]
    assert about["shown"]["labels"] == words


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_points(client: TestClient, spaces: Spaces, correction: str) -> None:
    points = get(client, "points", layer="first", correction=correction, colour="length")
    space = spaces.get("first", correction)
    expected = space.points(spaces.shown)
    # Five digits are sent.
    np.testing.assert_allclose(np.transpose([points["x"], points["y"]]), expected, rtol=1e-4)
    np.testing.assert_allclose(points["origin"], space.origin, rtol=1e-4)
    assert points["shares"] == list(space.plane.shares)
    assert (points["layer"], points["correction"]) == ("first", correction)
    lengths = space.lengths[spaces.shown]
    np.testing.assert_allclose(points["colour"]["values"], lengths, rtol=1e-4)


def test_colours(client: TestClient, spaces: Spaces) -> None:
    assert get(client, "points")["colour"] is None
    colour = get(client, "points", colour="order")["colour"]
    assert colour == {
        "name": "order",
        "values": [float(row) for row in spaces.shown],
        "logarithmic": False,
    }


def test_neighbours_before_and_after(client: TestClient, spaces: Spaces) -> None:
    found = get(client, "neighbours", word="word9", layer="last", correction="whiten", k=7)
    assert found["asked"]["row"] == 9
    for side, correction in (("before", "none"), ("after", "whiten")):
        units = spaces.get("last", correction).units.astype(np.float64)
        cosines = units @ units[9]
        cosines[9] = -2
        expected = np.argsort(-cosines)[:7]
        assert [one["row"] for one in found[side]] == expected.tolist()
        np.testing.assert_allclose(
            [one["cosine"] for one in found[side]], cosines[expected], atol=1e-6
        )
        drawn = spaces.get("last", "whiten").points(expected)
        np.testing.assert_allclose([[one["x"], one["y"]] for one in found[side]], drawn, rtol=1e-4)
    rows = [{one["row"] for one in found[side]} for side in ("before", "after")]
    assert found["kept"] == len(rows[0] & rows[1])
    assert rows[0] != rows[1]
    assert found["asked"]["context"] == "row 9 <b>"


def test_every_occurrence_of_a_word(client: TestClient) -> None:
    first, second = (get(client, "neighbours", word="twice", occurrence=at) for at in (0, 1))
    assert (first["asked"]["row"], second["asked"]["row"]) == (1, 2)
    assert first["occurrences"] == second["occurrences"] == 2
    by_row = get(client, "neighbours", row=2)
    assert by_row == second
    assert get(client, "neighbours", word=" TWICE ") == first


def test_markup_in_a_word_is_data(client: TestClient) -> None:
    answer = client.get(f"/{TOKEN}/api/neighbours", params={"word": MARKUP})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["asked"]["label"] == MARKUP
    missing = client.get(f"/{TOKEN}/api/neighbours", params={"word": "<script>x</script>"})
    assert missing.status_code == 404
    assert missing.headers["content-type"] == "application/json"


def test_measures(client: TestClient, spaces: Spaces) -> None:
    found = get(client, "measures", layer="first", correction="center")
    assert [row["measure"] for row in found["rows"]] == list(MEASURES)
    for position, row in enumerate(found["rows"]):
        assert row["before"] == spaces.measures("first", "none")[position].value
        assert row["after"] == spaces.measures("first", "center")[position].value
        assert row["summary"]
    cosine = found["rows"][0]
    assert abs(cosine["after"]) < 0.02 < cosine["before"]
    assert found["protocol"] == "on 1,500 rows; corrections are fitted on all"


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("points", {"layer": "middle"}, "no layer of small is called 'middle'"),
        ("points", {"correction": "magic"}, "no correction of this page is called 'magic'"),
        ("points", {"colour": "taste"}, "no colour is called 'taste'"),
        ("measures", {"layer": "middle"}, "no layer of small"),
        ("measures", {"correction": "flow"}, "no correction of this page"),
        ("neighbours", {"word": "unheard"}, "no row has the word 'unheard'"),
        ("neighbours", {"word": "a\nb"}, "no row has the word"),
        ("neighbours", {}, "name a word"),
        ("neighbours", {"word": "  "}, "name a word"),
        ("neighbours", {"word": "twice", "correction": "magic"}, "no correction"),
        ("neighbours", {"word": "twice", "occurrence": "2"}, "occurrence must be a whole number"),
        ("neighbours", {"word": "twice", "k": "0"}, "k must be a whole number from 1 to 50"),
        ("neighbours", {"word": "twice", "k": "²"}, "k must be a whole number"),
        ("neighbours", {"word": "twice", "k": "٣"}, "k must be a whole number"),
        ("neighbours", {"row": "1500"}, "row must be a whole number from 0 to 1499, got '1500'"),
        ("neighbours", {"row": "-1"}, "row must be a whole number"),
        ("neighbours", {"row": "9" * 5000}, "row must be a whole number"),
    ],
)  # fmt: skip
def test_what_does_not_exist(
    client: TestClient, name: str, parameters: dict[str, str], words: str
) -> None:
    answer = client.get(f"/{TOKEN}/api/{name}", params=parameters)
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert words in error
    assert "\n" not in error


def test_a_cloud_that_is_too_narrow_for_a_correction() -> None:
    app = make_app(Spaces(small(300, 4)), TOKEN, PORT)
    narrow = TestClient(app, base_url=f"http://127.0.0.1:{PORT}")
    answer = narrow.get(f"/{TOKEN}/api/points", params={"correction": "cluster-pc-removal"})
    assert answer.status_code == 422
    assert "last cannot be corrected: cluster-pc-removal: n_components" in answer.json()["error"]
    assert get(narrow, "points", correction="whiten")["correction"] == "whiten"


def test_words_near_an_unknown_one(client: TestClient) -> None:
    answer = client.get(f"/{TOKEN}/api/neighbours", params={"word": "Twicx"}).json()
    assert answer["near"] == ["twice"]


@pytest.mark.parametrize(
    "path", ["x", "api/", "api/write", "explore.html", "../secret", "%2e%2e/x"]
)
def test_no_other_file_is_served(client: TestClient, path: str) -> None:
    answer = client.get(f"http://127.0.0.1:{PORT}/{TOKEN}/{path}")
    assert answer.status_code in (403, 404)
    assert "error" in answer.json()
