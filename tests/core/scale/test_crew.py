"""Who does independent tasks: processes, which may end, and the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from transload import child
from transload.errors import RunError, UsageError
from transload.scale import Crew
from transload.worker import Worker

HERE = __name__


def product(a: int, b: int) -> int:
    """A task."""
    return a * b


def fails_at(number: int, which: int) -> int:
    """A task that is refused once."""
    if number == which:
        raise UsageError(f"{number} is not wanted", hint="take another")
    return number


def ends_once(mark: str, number: int) -> int:
    """A task whose process ends, where nobody left a mark before."""
    file = Path(mark)
    if not file.exists():
        file.write_text("seen")
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def ends_always(number: int) -> int:
    """A task whose process ends."""
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def sleeps(seconds: float) -> float:
    """A task that takes long."""
    time.sleep(seconds)
    return seconds


_INNER = Worker("inner")


def asks_another(number: int) -> int:
    """A task that a process of its own does."""
    return int(_INNER.call("operator:neg", number))


class Counts:
    """Something callable that is made once in each worker."""

    def __init__(self, start: int, folder: str) -> None:
        self.start = start
        (Path(folder) / f"{os.getpid()}").write_text("made")

    def __call__(self, number: int) -> int:
        return self.start + number


class Ends(Counts):
    """The same, in a process that ends in the middle, once."""

    def __call__(self, mark: str, number: int) -> int:
        if number == 5 and not Path(mark).exists():
            Path(mark).write_text("seen")
            os.kill(os.getpid(), signal.SIGKILL)
        return self.start + number


@pytest.fixture(autouse=True)
def found_by_children(monkeypatch):
    """Children import this file: they do not look into the current directory, which pytest does."""
    root = str(Path(__file__).parents[3])
    before = child._folder_of
    monkeypatch.setattr(child, "_folder_of", lambda package: root if package == "tests" else before(package))
    monkeypatch.setattr("transload.scale.crew.NEEDS", ("tests",))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_answers_are_those_of_the_tasks(workers):
    with Crew(workers) as crew:
        found = dict(crew.done(f"{HERE}:product", [(number, 7) for number in range(20)]))
    assert found == {number: number * 7 for number in range(20)}


def test_processes_of_processes_leave_no_folders(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Crew(2) as crew:
        found = dict(crew.done(f"{HERE}:asks_another", [(number,) for number in range(6)]))
    assert found == {number: -number for number in range(6)}
    assert not list(tmp_path.iterdir())


def test_what_is_made_once_in_each_worker_is_called(tmp_path):
    with Crew(2) as crew:
        found = dict(crew.called(f"{HERE}:Counts", (100, str(tmp_path)), [(number,) for number in range(20)]))
    assert found == {number: 100 + number for number in range(20)}
    assert len(list(tmp_path.iterdir())) <= 2


def test_it_is_made_again_in_a_process_that_takes_the_place_of_another(tmp_path):
    with Crew(2) as crew:
        tasks = [(str(tmp_path / "mark"), number) for number in range(12)]
        found = dict(crew.called(f"{HERE}:Ends", (100, str(tmp_path)), tasks))
    assert found == {number: 100 + number for number in range(12)}


def test_tasks_are_taken_as_they_can_be_worked_on():
    taken = []

    def tasks():
        for number in range(1000):
            taken.append(number)
            yield (number, 1)

    with Crew(1) as crew:
        next(answers := crew.done(f"{HERE}:product", tasks()))
        assert len(taken) < 20
        answers.close()


def test_what_a_task_raises_stands_in_its_place():
    with Crew(2) as crew:
        found = dict(crew.done(f"{HERE}:fails_at", [(number, 2) for number in range(4)]))
    error = found.pop(2)
    assert found == {0: 0, 1: 1, 3: 3}
    assert isinstance(error, UsageError) and error.message == "2 is not wanted" and error.hint == "take another"


def test_a_process_that_ends_is_replaced_and_its_task_done_again(tmp_path):
    with Crew(2) as crew:
        found = dict(crew.done(f"{HERE}:ends_once", [(str(tmp_path / "mark"), number) for number in range(6)]))
    assert found == {number: number for number in range(6)}


def test_a_task_that_ends_every_process_is_given_up_and_the_others_are_done():
    with Crew(1) as crew:
        (_, error), = crew.done(f"{HERE}:ends_always", [(1,)])
        again = list(crew.done(f"{HERE}:product", [(2, 3)]))
    assert isinstance(error, RunError) and "SIGKILL" in error.message
    assert again == [(0, 6)]


def test_leaving_in_the_middle_ends_the_processes():
    start = time.monotonic()
    with Crew(2) as crew:
        for _ in crew.done(f"{HERE}:sleeps", [(0.0,), (600.0,), (600.0,)]):
            break
    assert time.monotonic() - start < 300  # and not 600: nobody waited for the others


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, 1025, 10**20])
def test_impossible_numbers_of_workers_are_refused(workers):
    with pytest.raises(UsageError, match="1 is the least"):
        Crew(workers)


def test_a_scheduler_that_is_not_there_is_said(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("transload.scale.crew.CONNECTION", 0.5)
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        Crew(scheduler="tcp://127.0.0.1:9")


@pytest.fixture(scope="module")
def cluster():
    """Workers of a Dask cluster on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1") as cluster:
        yield cluster


class TestCluster:
    """Dask's workers do the same."""

    def test_the_answers_are_those_of_the_tasks(self, cluster):
        with Crew(scheduler=cluster.scheduler_address) as crew:
            found = dict(crew.done(f"{HERE}:product", [(number, 7) for number in range(20)]))
        assert found == {number: number * 7 for number in range(20)}

    def test_what_is_made_once_in_each_worker_is_called(self, cluster, tmp_path):
        with Crew(scheduler=cluster.scheduler_address) as crew:
            tasks = [(str(tmp_path / "mark"), number) for number in range(12)]
            found = dict(crew.called(f"{HERE}:Ends", (100, str(tmp_path)), tasks))
        assert found == {number: 100 + number for number in range(12)}

    def test_errors_travel(self, cluster):
        with Crew(scheduler=cluster.scheduler_address) as crew:
            (_, error), = crew.done(f"{HERE}:fails_at", [(1, 1)])
        assert isinstance(error, UsageError) and error.hint == "take another"

    def test_a_worker_that_ends_is_replaced(self, cluster, tmp_path):
        with Crew(scheduler=cluster.scheduler_address) as crew:
            found = dict(crew.done(f"{HERE}:ends_once", [(str(tmp_path / "mark"), number) for number in range(4)]))
        assert found == {number: number for number in range(4)}

    def test_a_client_of_the_users_stays_open(self, cluster):
        import distributed

        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            with Crew(scheduler=client) as crew:
                assert list(crew.done(f"{HERE}:product", [(3, 4)])) == [(0, 12)]
            assert client.submit(product, 2, 5).result() == 10

    def test_workers_are_not_counted(self, cluster):
        with pytest.raises(UsageError, match="those that it has"):
            Crew(2, scheduler=cluster.scheduler_address)


def test_something_else_than_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a connection and says nothing kept the client waiting for ever."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("transload.scale.crew.ANSWER", 0.5)
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(UsageError, match="something is there, and has said nothing"):
        Crew(scheduler=f"tcp://127.0.0.1:{silent.getsockname()[1]}").__enter__()
