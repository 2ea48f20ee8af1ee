"""From the store to report files, once for each group when it closes, and from there to tallies.

A file appears under its name when it is whole, and only then the store forgets the bodies: a crash leaves them in the
store, or in both, and the next call goes on from there. Reports lie in the file in the order of their bytes, so that it
says nothing but how often each was sent.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from treetop.adapters.report_files.counting import Candidates, CountingEngine, EmbeddedEngine
from treetop.adapters.report_files.locations import Location, StoredObject, check_content, digest_of
from treetop.adapters.report_files.sealed_file import ReportFile, ReportFileWriter, ReportKind, batch_columns
from treetop.errors import StoreDamaged, StoreUnavailable
from treetop.federation.service_ports import Counting, ReportStore
from treetop.federation.wire.report_batches import Batch, Envelope
from treetop.oracles.frequency_oracle import Columns, Tally
from treetop.privacy.epsilon import Epsilon
from treetop.secret_files import private_folder
from treetop.trie.user_groups import Group, Role
from treetop.whole_files import remove_partials


class CollectedReports:
    """Run by the party: the reports of closed groups."""

    def __init__(self, store: ReportStore, folder: Location, engine: CountingEngine | None = None) -> None:
        self._store = store
        self._folder = folder
        self._engine = engine or EmbeddedEngine()
        self._exported: dict[ReportKind, Location] = {}
        self._turn = Lock()

    def unlink(self, envelope: Envelope) -> None:
        """Move the reports of a closed group into their file, whence nothing leads to tickets, order or times."""
        self._files(envelope)

    def tally(self, task: bytes, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of closed groups together; damage raises and nothing is counted."""
        total = _candidates(_envelope(task, Group(1), counting), counting).nothing()
        for group in groups:
            envelope = _envelope(task, group, counting)
            total += self._engine.count(self._files(envelope), _candidates(envelope, counting))
        return total

    def reports(self, task: bytes, group: Group, counting: Counting) -> Iterator[Columns]:
        """Yield the reports of a closed group, a row group at a time, each checked as it is read."""
        for path in self._files(_envelope(task, group, counting)):
            file = ReportFile.opened(path)
            yield from (file.columns(index) for index in range(len(file.groups)))

    def implausible(self, task: bytes, group: Group, counting: Counting, epsilon: Epsilon) -> int:
        """Return how many reports no honest device sends; where values are hashed, as the keys show it."""
        oracle = counting.oracle.over(epsilon, counting.slots)
        found = 0
        reports = 0
        for columns in self.reports(task, group, counting):
            found += oracle.surprising(columns, counting.keys)
            reports += len(columns[0])
        return oracle.beyond_chance(found, reports, len(counting.keys))

    def _files(self, envelope: Envelope) -> list[Location]:
        """Return the files of a group: one, or none if it has no reports."""
        with self._turn:
            kind = ReportKind.of(envelope)
            if kind not in self._exported:
                reports = self._store.counts(envelope.task).get(envelope.group, 0)
                if not reports:
                    return []
                self._exported[kind] = self._settled(envelope, kind, reports)
            return [self._exported[kind]]

    def _settled(self, envelope: Envelope, kind: ReportKind, reports: int) -> Location:
        """Return the file that holds a group's reports now, and make sure that nothing else does."""
        name = f"{kind.task}_level_{kind.level}_role_{tuple(Role).index(envelope.group.role)}"
        path: Location
        if isinstance(self._folder, StoredObject):
            path = self._stored(envelope, kind, self._folder, name)
        else:
            path = self._folder / f"{name}.parquet"
            if not path.exists():
                self._export(envelope, kind, path)
        found = ReportFile.opened(path, kind).reports
        if found != reports:
            raise StoreDamaged(kind.task, f"{reports} reports of {envelope.group} were kept, {path.name} has {found}")
        self._store.scrub(envelope.task, envelope.group)
        return path

    def _stored(self, envelope: Envelope, kind: ReportKind, folder: StoredObject, name: str) -> StoredObject:
        """Return the object of a group, whose name ends with the SHA-256 of its content, and check that it is so.

        An upload that was not finished leaves no object. The same reports make the same file, so that a process that
        goes on after another one, or beside it, writes the same object again.
        """
        try:
            for found in folder.below(f"{name}_sha256_"):
                check_content(found, found.name.removeprefix(f"{name}_sha256_").removesuffix(".parquet"))
                return found
            with TemporaryDirectory(prefix="treetop-") as private:
                file = Path(private) / f"{name}.parquet"
                self._export(envelope, kind, file)
                digest = digest_of(file)
                stored = folder / f"{name}_sha256_{digest}.parquet"
                stored.put(file)
            check_content(stored, digest)  # before the store forgets what was sent
        except OSError as error:
            raise StoreUnavailable("reports_not_stored", folder=folder, name=type(error).__name__) from error
        return stored

    def _export(self, envelope: Envelope, kind: ReportKind, path: Path) -> None:
        stretches = self._store.bodies(envelope.task, envelope.group)
        try:
            private_folder(path.parent)
            remove_partials(path)  # a process was killed while it wrote
            with ReportFileWriter(path, kind) as writer:
                for bodies in stretches:
                    writer.append(*batch_columns(Batch(envelope, tuple(bodies))))
        except OSError as error:
            raise StoreUnavailable("reports_not_exported", reason=error) from error


def _envelope(task: bytes, group: Group, counting: Counting) -> Envelope:
    return Envelope(task, group, counting.domain, counting.oracle, counting.slots)


def _candidates(envelope: Envelope, counting: Counting) -> Candidates:
    return Candidates(ReportKind.of(envelope), counting.keys)
