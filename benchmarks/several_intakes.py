"""How many reports two intakes of a party take, against one: a coordinator and PostgreSQL beside them.

Every process is real. The load generators are processes of their own, one for each intake, and their CPU time is
measured and taken off: what is compared is reports for a second of the cores that are left. PostgreSQL, the coordinator
and the intakes share those cores, so the figure needs a machine that does nothing else.
"""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import uvloop
from tests.support.databases import PostgresServer
from tests.support.party_processes import PartyProcess, current_task

from benchmarks.measuring import Failed, Measured, Row
from benchmarks.party_intake import Load, requests_of, sent
from treetop.federation.task import DeviceTask

TITLE = "A party of several processes"
LIMITS = """
Reports a second, each durable, that intakes (`treetop party --role intake`) over one PostgreSQL database acknowledge:
two against one. The load generators are other processes on the same cores: the share of the cores that they used is
measured and taken off, in both runs. The best of three tries, taken in turns.
"""
TRIES = 3
LOADS = (
    Load("batches of 100", 100, 8, 100_000, 0, 0),
    Load("one by one", 1, 64, 15_000, 0, 0),
)
STORE = 'store_url_env = "STORE_ADDRESS"\ncommit_file = "store.commit"'


def generated(port: int, requests: list[bytes], connections: int) -> float:
    """Send everything; return the CPU time of this process that it took."""
    begin = process_time()
    uvloop.run(sent(port, requests, connections))
    return process_time() - begin


def rate(intakes: list[PartyProcess], requests: list[bytes], load: Load, pool: ProcessPoolExecutor) -> float:
    """Return the reports for each second of the cores that the load generators left."""
    shares = [requests[number :: len(intakes)] for number in range(len(intakes))]
    begin = perf_counter()
    futures = [
        pool.submit(generated, intake.port, share, load.connections)
        for intake, share in zip(intakes, shares, strict=True)
    ]
    generating = sum(future.result() for future in futures)
    seconds = perf_counter() - begin
    left = 1 - generating / (seconds * (os.cpu_count() or 1))
    return load.reports / (seconds * left)


def started(folder: Path, role: str) -> PartyProcess:
    process = PartyProcess(folder, store=STORE, role=role)
    process.start()
    return process


def measure() -> Iterator[Row]:
    os.umask(0o077)  # secrets in open files are refused
    with TemporaryDirectory() as name:
        folder = Path(name)
        server = PostgresServer.started(folder / "database")
        if isinstance(server, str):
            yield Failed("two intakes / one", server)
            return
        os.environ["STORE_ADDRESS"] = server.new_address()
        processes = [started(folder / "coordinator", "coordinator")]
        try:
            intakes = [started(folder / f"intake {number}", "intake") for number in range(2)]
            processes += intakes
            of, serials = current_task(), iter(range(1 << 30))
            intakes[0].install(of, 1)
            with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
                for load in LOADS:
                    yield compared(load, of, intakes, serials, pool)
        finally:
            for process in processes:
                process.stop()
            server.stop()


def compared(
    load: Load, of: DeviceTask, intakes: list[PartyProcess], serials: Iterator[int], pool: ProcessPoolExecutor
) -> Row:
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(TRIES):
        for count, rates in found.items():
            requests = requests_of(of, [next(serials) for _ in range(load.reports)], load.batch)
            rates.append(rate(intakes[:count], requests, load, pool))
    one, two = max(found[1]), max(found[2])
    what = f"{load.what}: two intakes ({two:,.0f} reports/s) / one ({one:,.0f} reports/s)"
    return Measured(what, two / one, None, load.reports / two, load.reports / one, at_least=1.5)


if __name__ == "__main__":
    for row in measure():
        print(row)
