"""What all tests share: no network, one thread, a cache of their own, the sample, real data if there."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
                raise RuntimeError(f"a test tried to reach {address}")
            return connect(self, address)

        return call

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for the whole run, so that what one test indexes another finds; never the user's."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("cache")
        patch.setenv("PAGETRAIL_CACHE", str(path))
        yield path


@pytest.fixture(scope="session")
def sample_pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample document: 15 pages, the 12th a scan, printed labels None, ii, iii, 1 ... 12."""
    from eval.sample import sample_pdf

    path = tmp_path_factory.mktemp("sample") / "sample.pdf"
    path.write_bytes(sample_pdf())
    return path


def _shared(name: str) -> Path:
    path = REPOSITORY.parent / "shared" / name
    if not path.is_dir():
        pytest.skip(f"the development data ({name}) is not beside the repository")
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    return _shared("data")


@pytest.fixture(scope="session")
def shared_vectors() -> Path:
    return _shared("vectors")
