"""From batches as devices send them to columns as files hold them, without reading report by report."""

import numpy as np

from treetop.adapters.report_files.columns import Columns, numpy_form, schema_of
from treetop.adapters.report_files.report_kind import ReportKind
from treetop.federation.wire.report_batches import Batch, Envelope


def kind_of(envelope: Envelope) -> ReportKind:
    """Return the kind of file that a batch belongs into."""
    group = envelope.group
    return ReportKind(
        envelope.task.hex(), group.level, envelope.oracle, envelope.slots, group.role.value, envelope.domain.hex()
    )


def columns_of(batch: Batch) -> Columns:
    """Run by the party: the bodies of a batch as columns; numbers are big-endian on the wire."""
    schema = schema_of(kind_of(batch.envelope))
    forms = [(field.name, *numpy_form(field.type)) for field in schema]
    wire = np.dtype([(name, dtype.newbyteorder(">"), row) for name, dtype, row in forms])
    bodies = np.frombuffer(b"".join(batch.bodies), dtype=wire)
    return tuple(bodies[name].astype(dtype) for name, dtype, _ in forms)
