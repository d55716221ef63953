"""The page as a document, and the server that hands it out: nothing is fetched, taken in, or read as anything but data."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

import pytest

from transload.errors import UsageError
from transload_plugins.view.document import document
from transload_plugins.view.looking import Looking
from transload_plugins.view.server import Server

HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror="alert(1)">${alert(1)}\u2028<!--'


def test_a_document_fetches_nothing(examples: Path) -> None:
    looking = Looking()
    looking.add(examples / "digits" / "digits_float.onnx", None, options={})
    page = document(looking.data("digits"), "digits").decode()
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "@import" not in page
    assert "sourceMappingURL" not in page
    assert "default-src 'none'" in page
    assert "connect-src" not in page


def test_scripts_are_those_of_the_page_alone() -> None:
    """Each has the number that the policy names, which is another one in every document."""
    page, other = (document({"models": []}, "x").decode() for _ in range(2))
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", page)
    assert nonce is not None
    assert nonce[1] not in other
    assert set(re.findall(r"<script (?!type)[^>]*>", page)) == {f'<script nonce="{nonce[1]}">'}


def test_hostile_names_are_text(network: Callable[..., Path]) -> None:
    looking = Looking()
    looking.add(network(lambda block, part: f"{HOSTILE}{block}/{part}"), None, options={})
    page = document(looking.data(HOSTILE), HOSTILE).decode()
    assert "owned" not in page.replace("&quot;owned&quot;", "")
    assert "<img" not in page


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(b"<p>the page", 0)
    thread = Thread(target=made.serve)
    thread.start()
    yield made
    made.stop()
    thread.join()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_the_server_knows_one_path(server: Server) -> None:
    assert ask(server, server.path) == (200, b"<p>the page")
    assert ask(server, server.path, "HEAD") == (200, b"")
    for path in ("/", "/index.html", server.path[:-2] + "/", f"{server.path}../../etc/passwd", server.path + "?x", "/%00"):
        assert ask(server, path)[0] == 404


def test_the_server_takes_nothing_in(server: Server) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(server, server.path, method)[0] == 501


def test_the_server_answers_to_its_own_name_alone(server: Server) -> None:
    assert ask(server, server.path, Host=f"localhost:{server.port}")[0] == 200
    assert ask(server, server.path, Host=f"evil.example:{server.port}")[0] == 404


def test_the_server_is_on_this_machine_alone(server: Server) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    with socket.socket() as other:
        other.settimeout(5)
        with pytest.raises(OSError):
            other.connect(("127.0.0.2", server.port))


@pytest.mark.parametrize("sent", ["GET ", "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"])
def test_a_browser_that_hangs_up_is_no_matter(capfd: pytest.CaptureFixture[str], sent: str) -> None:
    """It resets its connection: in the midst of what it asks, or of the answer, which is longer than what is held for it."""
    server = Server(bytes(1 << 24), 0)
    thread = Thread(target=server.serve)
    thread.start()
    for _ in range(4):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as browser:
            browser.sendall(sent.format(path=server.path, port=server.port).encode())
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(server, server.path, "HEAD")[0] == 200
    server.stop()
    thread.join()
    for other in [each for each in enumerate_threads() if "process_request_thread" in each.name]:
        other.join(30)
    assert capfd.readouterr() == ("", "")


def test_words_are_others_every_time() -> None:
    servers = [Server(b"", 0) for _ in range(2)]
    assert servers[0].path != servers[1].path
    with pytest.raises(UsageError, match="cannot listen on port"):
        Server(b"", servers[0].port)
    for each in servers:
        each.close()
