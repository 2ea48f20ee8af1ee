"""Errors: what is wrong, where, and what to do. Read by the person who typed the wrong thing."""

from collections.abc import Sequence

from treetop.wording import Wording


def _unknown_name(kind: str, found: str, known: Sequence[str], nearest: str | None) -> str:
    hint = f"; did you mean {nearest!r}?" if nearest else ""
    return f"unknown {kind} {found!r}, expected one of {', '.join(known)}{hint}"


def _output_failed(output: str, reason: str, rescued: str | None) -> str:
    where = f"the result is in {rescued}" if rescued else "no other file could be written either"
    return f"{output} was not written: {reason}; {where}"


_BUDGET = "the {kind} cap is epsilon {{expected}}, this answer would bring it to {{found}}"

ERRORS: dict[str, Wording] = {
    "budget_lifetime": _BUDGET.format(kind="lifetime"),
    "budget_task": _BUDGET.format(kind="task"),
    "budget_window": _BUDGET.format(kind="window"),
    "codes_of_encoding": "Panorama counts indices of a catalogue, ids or hashes, got the encoding {encoding!r}",
    "decompressed_too_large": (
        "{source}: it decompresses to more than {most:,} bytes, which no usual table does; decompress it yourself if "
        "you trust it"
    ),
    "ledger_refused": "the ledger's {what} should be {expected}, found {found}",
    "nested_too_deep": "{source}: lists or objects are nested deeper than {most}; a row is a flat object",
    "output_ending": "{path}: an output ends in one of {endings}",
    "output_failed": _output_failed,
    "output_folder_closed": "{path}: no file can be made in this folder ({reason}); name another folder",
    "output_folder_missing": "{path}: the folder does not exist; make it, or name another",
    "output_name_too_long": "{path}: the name has {found} bytes, at most {longest} are possible; name a shorter one",
    "output_not_a_file": "{path}: this is no regular file; name another",
    "party_unreachable": "party {name!r} does not answer: {reason}",
    "peer_violation": "{what}: expected {expected}, found {found}",
    "query_not_reading": "{url}: a query is one SELECT, WITH, VALUES or TABLE statement; nothing else is carried out",
    "report_file_refused": "{path}: {reason}; nothing was counted",
    "report_refused": "report refused, {what}: expected {expected}, found {found}",
    "row_too_long": ("{source}: a row has more than {most:,} bytes; shorten its values, or close a quote that is open"),
    "seed_out_of_range": "seed: expected a whole number from 0 to {most}, got {seed}",
    "server_unreachable": "the server at {name} does not answer: {reason}",
    "sqlite_url_not_a_path": "{url}: an SQLite file is named by its path alone, as in sqlite:///shop.db",
    "store_busy": "{waiting} reports wait to be written; try again in {retry_after} s",
    "store_damaged": "the store of task {task} is damaged: {what}; restore a backup, nothing was counted",
    "store_refused": "the store {where} was not opened: {reason}",
    "toml_nested_too_deep": "{name}: lists or tables are nested too deep; no setting is a list of lists of lists",
    "too_many_columns": "{source}: it has {found:,} columns, at most {most:,} are read; leave out what is not needed",
    "unknown_name": _unknown_name,
    "workbook_rows": "{source}: its first sheet claims more than {most:,} rows, which no sheet has; save it again",
    "workbook_with_entities": "{source}: its XML defines entities, which no workbook needs; it is not read",
}
