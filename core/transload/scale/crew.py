"""Who does tasks that do not depend on each other: processes of this machine, or the workers of a Dask cluster.

    with Crew(workers=4) as crew:
        for number, answer in crew.done("package.module:function", [(1, "a"), (2, "b")]):
            ...

A task is a function, by name, and arguments that travel as data (`transload.worker`). A process that ends is started anew, and
given its task again; so it is with Dask's. What others have done already stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import uuid4

from ..cores import cores, workers_or_cores
from ..errors import RunError, TransloadError, UsageError
from ..worker import ChildEnded, Limits, Remote, Worker, answered, function_called, taken

__all__ = ["Crew"]

TRIES = 3
"""How often a task is begun whose process ends."""
AHEAD = 3
"""Tasks that are under way or wait, for each worker."""
ANSWER = 60.0
"""Seconds that a scheduler has to answer in."""
CONNECTION = 10.0
"""Seconds that a scheduler may take until it lets a client connect."""
_LIMITS = Limits(seconds=7 * 24 * 3600.0, memory=0.9, file=0)
NEEDS: tuple[str, ...] = ()
"""Packages besides Transload's that tasks are in."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables by which libraries are told how many threads of their own they may start."""


class Crew:
    """`workers` processes of this machine, one a core by default; or, with a `scheduler`, the workers of a Dask cluster.

    `scheduler` is the address of Dask's scheduler (`tcp://host:8786`) or a `distributed.Client`, which stays open; how many
    workers there are is the cluster's affair. Raises `UsageError` where Dask is asked for and not installed, or not there.
    """

    def __init__(self, workers: int | None = None, scheduler: Any = None) -> None:
        if workers is not None and scheduler is not None:
            raise UsageError("workers are counted where they are processes of this machine; a cluster has those that it has")
        self._open = ExitStack()
        self._doers: _Processes | _Cluster = _Processes(workers_or_cores(workers)) if scheduler is None else _Cluster(scheduler)
        self._open.callback(self._doers.close)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.close()

    def done(self, function: str, tasks: Iterable[Sequence[Any]]) -> Iterator[tuple[int, Any]]:
        """The number of each task and what the function `module:name` gives for it, in the order in which they end.

        Where it raises a `TransloadError`, that stands in the place of what it gives; anything else that it raises is a
        `RunError`, and so is the end of the process that computed it, `TRIES` times. Tasks are taken as they can be worked on:
        there may be any number.
        """
        return self._ended(tasks, partial(self._doers.submit, function))

    def called(self, maker: str, given: Sequence[Any], tasks: Iterable[Sequence[Any]]) -> Iterator[tuple[int, Any]]:
        """As `done`, of something callable that `maker`, `module:name`, makes of `given` once in each worker: a model, say.

        What is given travels once to each.
        """
        return self._ended(tasks, self._doers.caller(maker, list(given)))

    def _ended(self, tasks: Iterable[Sequence[Any]], submit: Callable[[list[Any]], Future[Any]]) -> Iterator[tuple[int, Any]]:
        waiting: dict[Future[Any], int] = {}
        for number, task in enumerate(tasks):
            waiting[submit(list(task))] = number
            if len(waiting) >= AHEAD * self._doers.count:
                yield from _taken(waiting)
        while waiting:
            yield from _taken(waiting)


def _taken(waiting: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
    """The answers that are there, once there is one."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        number = waiting.pop(future)
        try:
            yield number, future.result()
        except TransloadError as error:
            yield number, error


class _Processes:
    """Child processes of this one."""

    def __init__(self, count: int) -> None:
        threads = str(max(1, cores() // count))
        self._all = [Worker(f"worker {number + 1}", NEEDS, limits=_LIMITS, variables=dict.fromkeys(_THREADS, threads))
                     for number in range(count)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)
        self._closed = False
        self._pool: Executor = ThreadPoolExecutor(count)

    @property
    def count(self) -> int:
        return len(self._all)

    def submit(self, function: str, arguments: list[Any]) -> Future[Any]:
        return self._pool.submit(self._tried, lambda worker: worker.call(function, *arguments))

    def caller(self, maker: str, given: list[Any]) -> Callable[[list[Any]], Future[Any]]:
        made: dict[Worker, Remote] = {}

        def call(worker: Worker, arguments: list[Any]) -> Any:
            if worker not in made:
                made[worker] = worker.open(maker, *given)
            return made[worker](*arguments)

        return lambda arguments: self._pool.submit(self._tried, lambda worker: call(worker, arguments))

    def _tried(self, ask: Callable[[Worker], Any]) -> Any:
        worker = self._free.get()
        try:
            for left in reversed(range(TRIES)):
                try:
                    return ask(worker)
                except ChildEnded:
                    if not left or self._closed:
                        raise
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End the processes: those that do something, in the middle of it."""
        self._closed = True
        for worker in self._all:
            worker.end()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for worker in self._all:
            worker.stop()


def _connected(connect: Callable[[], Any]) -> Any:
    """What `connect` makes, in a thread: a client waits for ever where something else than a scheduler takes its connection.

    Raises what it raises, and `OSError` where it says nothing for long.
    """
    made: Future[Any] = Future()

    def attempt() -> None:
        try:
            made.set_result(connect())
        except BaseException as error:  # of the other thread, where it is raised
            made.set_exception(error)

    Thread(target=attempt, daemon=True).start()
    if not wait([made], ANSWER).done:
        raise OSError(f"something is there, and has said nothing for {ANSWER:g} seconds")
    return made.result()


class _Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, scheduler: Any) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("a scheduler is asked for, and the package distributed is not installed",
                             hint="pip install 'transload[dask]'") from None
        self._own = not isinstance(scheduler, Client)
        try:
            self._client = _connected(lambda: Client(str(scheduler), timeout=CONNECTION)) if self._own else scheduler
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        self._under_way: set[Any] = set()

    @property
    def count(self) -> int:
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, function: str, arguments: list[Any]) -> Future[Any]:
        return self._handed(_answered, function, arguments)

    def caller(self, maker: str, given: list[Any]) -> Callable[[list[Any]], Future[Any]]:
        sent = self._client.scatter([given], broadcast=True, hash=False)[0]
        token = uuid4().hex
        return lambda arguments: self._handed(_called, token, maker, sent, arguments)

    def _handed(self, *task: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        outcome.set_running_or_notify_cancel()
        made = self._client.submit(*task, pure=False, retries=TRIES - 1)
        self._under_way.add(made)  # Dask forgets a task that nobody holds
        made.add_done_callback(partial(self._hand_on, outcome))
        return outcome

    def _hand_on(self, outcome: Future[Any], made: Any) -> None:
        try:
            # Asked for anew, and not what the callback came with: an answer may be lost with its worker, and is computed again.
            outcome.set_result(taken(made.result()))
        except TransloadError as error:
            outcome.set_exception(error)
        except BaseException as error:  # what Dask says of a worker that ended, or of a task that was taken back
            outcome.set_exception(RunError(f"a worker of the cluster ended: {type(error).__name__}: {str(error)[:300]}"))
        self._under_way.discard(made)

    def close(self) -> None:
        self._client.cancel(list(self._under_way), force=False)
        if self._own:
            self._client.close()


def _answered(function: str, arguments: list[Any]) -> list[Any]:
    """What a worker of a cluster does."""
    return answered(function_called(function), arguments)


def _called(token: str, maker: str, given: list[Any], arguments: list[Any]) -> list[Any]:
    """The same, with what was made there by a token; the last that was made is kept."""
    from distributed import get_worker

    worker: Any = get_worker()
    kept: tuple[str, Any] | None = getattr(worker, "transload_made", None)
    if kept is None or kept[0] != token:
        made = answered(function_called(maker), given)
        if made[0] != "done":
            return made
        worker.transload_made = kept = (token, made[1])
    return answered(kept[1], arguments)
