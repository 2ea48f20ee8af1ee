from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.histogram_folders import small_folder, write_histogram
from tests.support.refusals import refused

from treetop.datasets.loading import federation_named
from treetop.datasets.paper_federations import PAPER_FEDERATIONS, provenance, read
from treetop.errors import InvalidInput


def test_the_better_file_is_taken_and_named(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    assert provenance(folder, "RDB").remark == ""
    plain = provenance(folder, "TYS")
    assert plain.path == folder / "tys.parquet"
    assert "the paper counts it once" in plain.remark
    write_histogram(folder / "tys_distinct.parquet", ("word", "other"))
    assert provenance(folder, "TYS").path == folder / "tys_distinct.parquet"


def test_a_substitute_is_marked_and_gives_way_to_the_original(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    found = provenance(folder, "UBA")
    assert found.substitute
    assert found.remark.startswith("SUBSTITUTE")
    assert read(found).encoding == "ids"
    write_histogram(folder / "uba.parquet", ("1", "2"))
    assert not provenance(folder, "UBA").substitute


def test_a_missing_federation_is_said_to_be_missing(tmp_path: Path) -> None:
    found = provenance(tmp_path, "YCM")
    assert found.missing
    assert "neither ycm_distinct.parquet nor ycm.parquet is in" in found.remark


def test_syn_is_drawn(tmp_path: Path) -> None:
    found = provenance(tmp_path, "SYN")
    assert read(found).name == "syn"
    assert [found.word(), found.word(2), found.word(0, 0.2)] == ["syn", "syn:2", "syn:0:0.2"]


def test_the_word_of_a_draw_gives_that_draw() -> None:
    assert federation_named(["syn:1:0.2"]).name == "syn:1:0.2"
    for word in ("syn:1:x", "syn:1:-1", "syn::0.2"):
        with pytest.raises(InvalidInput, match="expected syn:SEED"):
            federation_named([word])


def test_unknown_names_and_bad_files_are_refused(tmp_path: Path) -> None:
    with refused("unknown_name", InvalidInput, kind="federation", found="RDX", nearest=None):
        provenance(tmp_path, "RDX")
    pa.parquet.write_table(pa.table({"party": ["a"], "item": ["b"]}), tmp_path / "rdb.parquet")
    with refused("histogram_columns", InvalidInput, wanted="party, item, users", there="party, item"):
        read(provenance(tmp_path, "RDB"))
    (tmp_path / "ycm.parquet").write_bytes(b"PAR1 and nothing else")
    with refused("histogram_not_parquet", InvalidInput):
        read(provenance(tmp_path, "YCM"))


def test_the_five_federations_are_known() -> None:
    assert list(PAPER_FEDERATIONS) == ["RDB", "YCM", "TYS", "UBA", "SYN"]
