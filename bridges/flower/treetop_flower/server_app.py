"""Run by Flower's SuperLink: the gateway, for as long as the run lasts."""

import time
from collections.abc import Collection, Mapping, Sequence
from threading import Thread
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from treetop_flower.carrier import Carrier, Returned
from treetop_flower.gateway import Gateway
from treetop_flower.gateway_http import GatewayServer
from treetop_flower.keys import public_bytes
from treetop_flower.settings import LinkSettings, settings_from_environment
from treetop_flower.wire import Answer, Call, Malformed

RECORD = "call"
BINDING_SECONDS = 20.0
"""How long the gateway of an earlier run may take to end."""
app = ServerApp()


class GridLink:
    """Flower's grid, as the carrier needs it."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def nodes(self) -> Mapping[bytes, int]:
        """Return the nodes that are connected, by the public key that SuperLink has of them."""
        return {bytes(node.public_key): int(node.node_id) for node in self._grid.get_nodes() if node.public_key}

    def send(self, node: int, call: Call, seconds: float) -> str | None:
        """Hand over a message."""
        content = RecordDict({RECORD: ConfigRecord(dict(call.to_values()))})
        message = Message(content, dst_node_id=node, message_type=call.message_type, ttl=seconds)
        (taken,) = tuple(self._grid.push_messages([message])) or (None,)
        return taken or None

    def returned(self, messages: Collection[str]) -> Sequence[Returned]:
        """Return what has come back."""
        return [_returned(reply) for reply in self._grid.pull_messages(list(messages))]


def _returned(reply: Any) -> Returned:
    sent, node = reply.metadata.reply_to_message_id, int(reply.metadata.src_node_id)
    if reply.has_error():
        return Returned(sent, node, None, f"Flower's error {reply.error.code}")
    try:
        return Returned(sent, node, Answer.from_values(dict(reply.content[RECORD])))
    except (Malformed, KeyError, TypeError) as error:
        return Returned(sent, node, None, f"its node sent something else: {error}"[:200])


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry until the run is stopped."""
    settings = settings_from_environment(LinkSettings)
    gateway = Gateway(frozenset(party.name for party in settings.parties), settings.longest_pause_seconds)
    keys = {party.name: public_bytes(party.public_key) for party in settings.parties}
    carrier = Carrier(gateway, GridLink(grid), keys, settings.message_seconds)

    def health() -> dict[str, Any] | None:
        carrying = {"status": "ok", "run": str(context.run_id), "connected": sorted(gateway.now_connected)}
        return None if carrier.stands_still else {**carrying, "round_trips": gateway.times.shown()}

    server = _listening(settings, gateway, health)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        while True:
            time.sleep(carrier.turn())
    finally:
        server.shutdown()
        server.server_close()


def _listening(settings: LinkSettings, gateway: Gateway, health: Any) -> GatewayServer:
    end = time.monotonic() + BINDING_SECONDS
    while True:
        try:
            return GatewayServer((settings.gateway.host, settings.gateway.port), gateway, health)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
