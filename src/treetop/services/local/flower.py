"""Flower between the server and the parties of a local federation: SuperLink, a node for every party, and a keeper.

The programs are those of bridges/flower, in an environment of their own; from here they are commands and settings
files. Keys and certificate are made with the folder and the start.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.adapters.system.key_files import issue_self_signed
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.secret_files import private_folder
from treetop.services.local.folder import HOST, FederationFolder, quoted
from treetop.services.local.processes import Processes, Program, free_ports

COMMAND = "treetop-flower"
LONGEST_PAUSE = 4
"""Seconds between two questions to a party that is at work: here somebody waits for the answer."""
MAX_STARTS = 60
"""SuperLink refuses a node that died for up to a minute, and the node tries every ten seconds."""


class FlowerCarrier:
    """Carries what the server and the parties say to each other."""

    def __init__(self, environment: Path) -> None:
        self._command = environment / "bin" / COMMAND
        if not self._command.is_file():
            raise InvalidInput("flower_missing", environment=environment, command=self._command)
        self._files: dict[str, tuple[str, Path]] = {}

    def prepare(self, folder: FederationFolder, services: Mapping[str, str]) -> dict[str, str]:
        """Write keys and settings for parties at these addresses; return where the server finds each of them."""
        link = folder.path / "flower"
        private_folder(link)
        issue_self_signed(HOST, link / "link.crt", link / "link.key")
        own = link / "link.toml"
        self._files = {"flower link": ("link", own), "flower run": ("keep", own)}
        link_port, gateway_port, *runtime_ports = free_ports(2 + len(services))
        settings = (
            f'listen = "{HOST}:{link_port}"\ngateway = "{HOST}:{gateway_port}"\nstate = "state"\n'
            f'certificate = "link.crt"\nprivate_key = "link.key"\nca = "link.crt"\n'
            f"longest_pause_seconds = {LONGEST_PAUSE}\n"
        )
        for (name, url), port in zip(services.items(), runtime_ports, strict=True):
            node = folder.parties[name].path / "flower"
            private_folder(node)
            settings += f"\n[[parties]]\nname = {quoted(name)}\npublic_key = {quoted(_public_key(node))}\n"
            replace_durably(
                node / "node.toml",
                (
                    f'superlink = "{HOST}:{link_port}"\nca = "../../flower/link.crt"\nprivate_key = "node.key"\n'
                    f'state = "state"\nparty = "{url}"\nruntime = "{HOST}:{port}"\n'
                ).encode("ascii"),
            )
            self._files[f"{node.parent.name} node"] = ("node", node / "node.toml")
        replace_durably(own, settings.encode("utf-8"))
        return {name: f"http://{HOST}:{gateway_port}/party/{quote(name, safe='')}" for name in services}

    def start(self, processes: Processes) -> None:
        """Start all of it; nodes find SuperLink by themselves, the keeper starts a run whenever there is none."""
        program = Program((str(self._command),), ends=False, max_starts=MAX_STARTS)
        for name, (role, settings) in self._files.items():
            processes.start(name, [role, "--settings", str(settings)], settings.with_name(f"{role}.log"), program)


def _public_key(node: Path) -> str:
    """Return the public key of a node, whose private one is made where there is none."""
    with needed_for("a node's key", "federation"):
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        ec = import_module("cryptography.hazmat.primitives.asymmetric.ec")
    kept = content_of(node / "node.key")
    key = serialization.load_ssh_private_key(kept, None) if kept else ec.generate_private_key(ec.SECP384R1())
    if not kept:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        replace_durably(node / "node.key", key.private_bytes(*form))
    public: bytes = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode("ascii")
