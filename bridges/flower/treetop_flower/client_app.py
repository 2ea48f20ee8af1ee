"""Run by Flower's SuperNode: hands each message to the party's own service on this machine, and its answer back."""

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from treetop_flower.forwarding import forwarded
from treetop_flower.settings import NodeSettings, settings_from_environment
from treetop_flower.wire import ACTIONS, Call

RECORD = "call"
app = ClientApp()


def _answered(message: Message, _context: Context) -> Message:
    settings = settings_from_environment(NodeSettings)
    action = message.metadata.message_type.partition(".")[2]
    answer = forwarded(Call.from_values(action, dict(message.content[RECORD])), settings.party)
    return Message(RecordDict({RECORD: ConfigRecord(dict(answer.to_values()))}), reply_to=message)


for _name in ACTIONS:
    app.query(_name)(_answered)
