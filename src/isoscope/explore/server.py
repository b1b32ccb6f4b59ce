"""The page and what it asks for, as a web application."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from isoscope.errors import IsoscopeError, UsageError
from isoscope.explore.answers import Answers
from isoscope.explore.explored import UnknownWordError
from isoscope.explore.guard import Guard

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from isoscope.explore.spaces import Spaces

FILES = {
    "": ("explore.html", "text/html"),
    "explore.css": ("explore.css", "text/css"),
    "explore.js": ("explore.js", "text/javascript"),
    "scatter.js": ("scatter.js", "text/javascript"),
}
"""What is served as it is: path, file, type. Nothing is filled in, so no word can become markup."""


def make_app(spaces: Spaces, token: str, port: int) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    spaces : Spaces
        What is explored.
    token : str
        First part of every path.
    port : int
        Where the server listens.
    """
    answers = Answers(spaces)
    routes = [Route(f"/{path}", file_route(*file)) for path, file in FILES.items()]
    asked: dict[str, Callable[..., dict[str, Any]]] = {
        "about": answers.about,
        "points": answers.points,
        "neighbours": answers.neighbours,
        "measures": answers.measures,
    }
    routes += [Route(f"/api/{name}", answer_route(answer)) for name, answer in asked.items()]
    app = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers={404: nowhere})
    return Guard(app, token, port)


def file_route(name: str, kind: str) -> Callable[[Request], Response]:
    """Return a function that answers with a file."""
    content = resources.files(__package__).joinpath("templates", name).read_bytes()

    def answer(request: Request) -> Response:
        del request
        return Response(content, media_type=kind)

    return answer


def answer_route(make: Callable[..., dict[str, Any]]) -> Callable[[Request], Response]:
    """Return a function that answers with JSON, run on a thread of its own.

    A name that does not exist is 404; data that do not allow what was asked are 422.
    """

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(make(request.query_params))
        except UnknownWordError as error:
            return JSONResponse({"error": str(error), "near": error.near}, 404)
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 404)
        except IsoscopeError as error:
            return JSONResponse({"error": str(error)}, 422)

    return answer


def nowhere(request: Request, error: Exception) -> Response:
    """Answer where there is nothing."""
    del request, error
    return JSONResponse({"error": "there is no such page"}, 404)
