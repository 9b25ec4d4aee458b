"""Downloads against a real HTTP server on the loopback interface."""

import hashlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from tests.data.makers import write_tree
from towpath.cli import main as cli
from towpath.data.download import RemoteFile, fetch
from towpath.data.errors import DataError, DownloadError
from towpath.data.registry import SETS
from towpath.files import FileError

CONTENT = bytes(range(256)) * 2000
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MANUAL = "By hand: save it yourself."


class Server(http.server.ThreadingHTTPServer):
    """A server that knows what it was asked for, and can keep a client waiting."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.half_sent, self.released = threading.Event(), threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    """What a path answers is in its name."""

    server: Server

    def do_GET(self):
        kind = self.path.strip("/").split("/")[0]
        self.server.asked.append(kind)
        if kind in ("404", "403", "503"):
            self.send_error(int(kind))
            return
        if kind == "flaky" and self.server.asked.count("flaky") < 3:
            self.send_error(500)
            return
        body = b"other" + CONTENT[5:] if kind == "wrong" else CONTENT
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind == "truncated":
            self.wfile.write(body[: len(body) // 2])
            return
        if kind == "stalling" and self.server.asked.count("stalling") == 1:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.server.half_sent.set()
            self.server.released.wait(30)
            return
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = Server()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield served
    served.released.set()
    served.shutdown()
    thread.join()
    served.server_close()


def remote(server, *kinds: str) -> RemoteFile:
    port = server.server_address[1]
    return RemoteFile("set.zip", CHECKSUM, tuple(f"http://127.0.0.1:{port}/{k}" for k in kinds))


def get(file, folder, **options):
    return fetch(file, folder, manual=MANUAL, **{"wait": 0.01, "timeout": 10} | options)


def only_the_file(folder) -> bool:
    return [path.name for path in folder.iterdir()] == ["set.zip"]


def nothing_there(folder) -> bool:
    return not folder.exists() or list(folder.iterdir()) == []


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_a_download_arrives_whole_with_its_checksum(server, tmp_path):
    fetched = get(remote(server, "good"), tmp_path / "new" / "folder")
    assert fetched.path.read_bytes() == CONTENT
    assert fetched.official
    assert not fetched.was_there
    assert only_the_file(fetched.path.parent)


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    get(remote(server, "good"), tmp_path)
    again = get(remote(server, "good"), tmp_path)
    assert again.was_there
    assert again.official
    assert server.asked == ["good"]


def test_a_file_with_another_checksum_is_left_alone_and_reported(server, tmp_path):
    write_tree(tmp_path, {"set.zip": b"packed again by its owner"})
    fetched = get(remote(server, "good"), tmp_path)
    assert (fetched.was_there, fetched.official) == (True, False)
    assert fetched.path.read_bytes() == b"packed again by its owner"
    assert server.asked == []


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_is_neither_read_nor_replaced(kind, server, tmp_path):
    target = tmp_path / "set.zip"
    os.mkfifo(target) if kind == "pipe" else target.symlink_to("nowhere")
    before = target.lstat()
    with pytest.raises(FileError, match=r"set\.zip"):
        get(remote(server, "good"), tmp_path)
    assert target.lstat() == before
    assert server.asked == []


@pytest.mark.parametrize(
    ("kind", "message", "times"),
    [
        ("wrong", "another checksum", 3),
        ("truncated", "broke off before the file was complete|another checksum", 3),
        ("404", "answered 404", 1),
        ("403", "answered 403", 1),
        ("503", "answered 503", 3),
    ],
)
def test_what_fails_is_said_and_nothing_is_left(server, tmp_path, kind, message, times):
    with pytest.raises(DownloadError, match=message) as failed:
        get(remote(server, kind), tmp_path / "data")
    assert MANUAL in str(failed.value)
    assert server.asked == [kind] * times
    assert nothing_there(tmp_path / "data")


def test_a_refused_connection_is_said_with_the_way_by_hand(tmp_path):
    file = RemoteFile("set.zip", CHECKSUM, (f"http://127.0.0.1:{closed_port()}/x",))
    with pytest.raises(DownloadError, match=r"connection refused.*By hand"):
        get(file, tmp_path / "data", retries=2)
    assert nothing_there(tmp_path / "data")


def test_a_name_that_does_not_resolve_is_said(tmp_path):
    file = RemoteFile("set.zip", CHECKSUM, ("http://no-such-host.invalid/x",))
    with pytest.raises(DownloadError, match=r"cannot be resolved|network closed"):
        get(file, tmp_path, retries=1)


@pytest.mark.parametrize("first", ["404", "wrong", "truncated"])
def test_the_second_mirror_is_tried(server, tmp_path, first):
    fetched = get(remote(server, first, "good"), tmp_path, retries=2)
    assert fetched.path.read_bytes() == CONTENT
    assert server.asked[-1] == "good"
    assert only_the_file(tmp_path)


def test_a_refused_first_mirror_leads_to_the_second(server, tmp_path):
    good = remote(server, "good")
    file = replace(good, urls=(f"http://127.0.0.1:{closed_port()}/x", *good.urls))
    assert get(file, tmp_path, retries=1).path.read_bytes() == CONTENT


def test_a_server_that_recovers_is_asked_again(server, tmp_path):
    assert get(remote(server, "flaky"), tmp_path).path.read_bytes() == CONTENT
    assert server.asked == ["flaky"] * 3


def test_a_server_that_stalls_runs_into_the_timeout_and_is_asked_again(server, tmp_path):
    fetched = get(remote(server, "stalling"), tmp_path, timeout=0.3)
    assert fetched.path.read_bytes() == CONTENT
    assert server.asked == ["stalling"] * 2


def test_progress_counts_every_byte(server, tmp_path):
    class Bar:
        total = 0
        done = 0
        closed = False

        def update(self, amount):
            self.done += amount

        def reset(self):
            self.done = 0

        def close(self):
            self.closed = True

    bar = Bar()
    get(remote(server, "good"), tmp_path, progress=lambda name: bar)
    assert bar.total == bar.done == len(CONTENT)
    assert bar.closed


def test_a_folder_that_cannot_be_made_is_the_users_to_mend(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot be saved to .*--data-root"):
        get(remote(server, "good"), tmp_path / "file" / "data")


def test_ctrl_c_ends_with_130_leaves_nothing_and_the_next_run_succeeds(
    server, tmp_path, monkeypatch, capsys
):
    entry = replace(SETS["omniglot"], files=(remote(server, "stalling"),))
    monkeypatch.setitem(SETS, "omniglot", entry)

    def interrupt():
        server.half_sent.wait(30)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    command = ["data", "fetch", "omniglot", "--data-root", str(tmp_path)]
    assert cli.main(command) == 130
    thread.join()
    assert nothing_there(tmp_path / "omniglot")
    assert cli.main(command) == 0
    assert (tmp_path / "omniglot" / "set.zip").read_bytes() == CONTENT
    assert "downloaded, checksum right" in capsys.readouterr().out


KILLED = """
import sys
from pathlib import Path
from towpath.data.download import RemoteFile, fetch
fetch(RemoteFile("set.zip", sys.argv[1], (sys.argv[2],)), Path(sys.argv[3]), manual="")
"""


def test_a_killed_download_is_never_taken_for_the_file_and_the_next_run_succeeds(server, tmp_path):
    file = remote(server, "stalling")
    arguments = [sys.executable, "-c", KILLED, CHECKSUM, file.urls[0], str(tmp_path)]
    with subprocess.Popen(arguments) as process:
        assert server.half_sent.wait(60)
        time.sleep(0.2)
        process.kill()
    assert not (tmp_path / "set.zip").exists()
    assert get(file, tmp_path).path.read_bytes() == CONTENT
    assert only_the_file(tmp_path)
