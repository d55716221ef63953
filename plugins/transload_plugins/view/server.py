"""Handing one document to a browser on this machine, until Ctrl-C.

The server listens on the loopback address alone and knows one path, in which a random word stands that only the one who started
it is told. It answers GET and HEAD and nothing else, takes nothing in, reads no file, and refuses requests that were sent to
another name than its own, as a page of somebody else's that had its name point here would send them.
"""

from __future__ import annotations

import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from transload.errors import UsageError

__all__ = ["Server"]

LOOPBACK = "127.0.0.1"


class _Quiet(ThreadingHTTPServer):
    """Leaves the terminal to the user where a browser hangs up in the midst of an answer, as on a reload."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Server:
    """Serves a document; `url` is where. Raises `UsageError` where the port is taken."""

    def __init__(self, document: bytes, port: int = 0, host: str = LOOPBACK) -> None:
        self.path = f"/{secrets.token_urlsafe(16)}/"
        try:
            self._server = _Quiet((host, port), _handler(document, self.path))
        except OSError as error:
            why = f"cannot listen on port {port} of {host}: {error.strerror or error}"
            raise UsageError(why, hint="--port 0 takes one that is free") from None
        self.port = self._server.server_address[1]
        self.url = f"http://{host}:{self.port}{self.path}"

    def serve(self) -> None:
        """Answer until `stop` is called, or an exception ends it."""
        self._server.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        self._server.server_close()


def _handler(document: bytes, path: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers with the document, or that there is nothing."""

        server_version = "transload"
        sys_version = ""
        timeout = 30

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, with_body: bool) -> None:
            mine = self._is_for_us() and secrets.compare_digest(self.path.encode(), path.encode())
            body = document if mine else b"not here\n"
            self.send_response(200 if mine else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8" if mine else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (
                ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                ("X-Frame-Options", "DENY"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ):
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def _is_for_us(self) -> bool:
            assert isinstance(self.server, ThreadingHTTPServer)
            host, port = str(self.server.server_address[0]), self.server.server_port
            return self.headers.get("Host", "") in {f"{name}:{port}" for name in (LOOPBACK, "localhost", host)}

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the terminal is the user's."""

    return Handler
