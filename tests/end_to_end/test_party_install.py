"""requirements/party.txt is all that a server, a party and its devices need: nothing else can be imported here."""

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from tools.supply_chain.locks import locked

ROOT = Path(__file__).parents[2]
DATA = "party,item,users\nnorth,milk,600\nnorth,tea,300\nsouth,milk,300\nsouth,beer,100\n"
# Python runs a module of this name before anything else, in every process that `up` starts.
NARROWED = """
import atexit, json, os, sys

REFUSED, TOLD = {refused!r}, {told!r}

class Narrow:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"No module named {{name!r}}: it is not in requirements/party.txt", name=name)

sys.meta_path.insert(0, Narrow())

def tell():
    role = next((word for word in sys.argv[1:] if word in ("server", "party", "device", "up")), "")
    loaded = sorted({{name.partition(".")[0] for name in sys.modules}})
    with open(os.path.join(TOLD, f"{{role}}.{{os.getpid()}}.json"), "w") as file:
        json.dump(loaded, file)

atexit.register(tell)
"""


def test_a_federation_runs_on_what_a_party_installs(tmp_path: Path) -> None:
    needed = {each.name for each in locked("party")}
    providers = {
        module: {name.lower().replace("_", "-") for name in names} for module, names in packages_distributions().items()
    }
    refused = {module for module, names in providers.items() if not names & (needed | {"treetop-ldp"})}
    assert {"pandas", "matplotlib", "scipy", "pytest", "psycopg", "hatchling"} <= refused
    told, narrow = tmp_path / "told", tmp_path / "narrow"
    told.mkdir()
    narrow.mkdir()
    (narrow / "sitecustomize.py").write_text(NARROWED.format(refused=refused, told=str(told)))
    (tmp_path / "drinks.csv").write_text(DATA)
    done = subprocess.run(
        [sys.executable, "-m", "treetop", "up", "--directory", str(tmp_path / "up"), "--data",
         str(tmp_path / "drinks.csv"), "--epsilon", "8", "--k", "2", "--seed", "1", "--set", "bits=24", "--json"],
        env={**os.environ, "PYTHONPATH": f"{narrow}:{ROOT / 'src'}"}, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["items"][0]["item"] == "milk"
    loaded = {path.name.partition(".")[0]: set(json.loads(path.read_text())) for path in told.glob("*.json")}
    assert set(loaded) == {"up", "server", "party", "device"}
    assert {"numba", "fastapi", "pyarrow", "cryptography"} <= loaded["party"]
    assert not {"numba", "llvmlite", "fastapi", "starlette", "uvicorn"} & loaded["device"]
    tried = subprocess.run(
        [sys.executable, "-c", "import pandas"], env={**os.environ, "PYTHONPATH": str(narrow)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "not in requirements/party.txt" in tried.stderr
