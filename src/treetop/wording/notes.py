"""Notes and choices: what a result says about itself."""

from collections.abc import Sequence

from treetop.wording import Wording

_LEVEL_WEIGHTS = {
    "adaptive": "more where kept prefixes leave many uncovered, most at the last",
    "ramp": "public weights that grow with the level",
    "equal": "the same public weight for every level, twice that for the last",
}


def _stretches(numbers: Sequence[int]) -> str:
    """Write ascending numbers, those that follow each other as `1 to 38`."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and stretches[-1][-1] == number - 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return ", ".join(f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]) for each in stretches)


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _numbers(noun: str, numbers: Sequence[int]) -> str:
    return f"{_plural(noun, len(numbers))} {', '.join(map(str, numbers))}"


def _canopy_levels(levels: int, step_bits: int, bits: int, budget: int | None) -> str:
    reason = f"{bits} bits name an item" if budget is None else f"the most that an upload of {budget:,} bits allows"
    return f"{levels} levels of at most {step_bits} bits: {reason}"


def _canopy_kept(kept: int, least: int | None, candidates: int) -> str:
    reason = "as asked for" if least is None else f"max(2k, {least})"
    return f"{kept} prefixes kept per level ({reason}), so at most {candidates:,} candidates"


def _canopy_weights(weights: str) -> str:
    return f"users per level: {_LEVEL_WEIGHTS[weights]}"


def _panorama_reports(bits: int, hashed: bool, oracle: str, text_share: float, chunks: int) -> str:
    names = "names (salted hashes)" if hashed else "ids"
    texts = f"; {text_share:.0%} of users report one of {chunks} chunks of their text instead" if text_share else ""
    return f"each user reports one of 2^{bits} {names} once, by {oracle}{texts}"


def _chunks_left_out(chunks: Sequence[int], least: int) -> str:
    return f"{_plural('chunk', len(chunks))} {_stretches(chunks)} of texts: fewer than {least} reports each, left out"


def _fewer_users_than_asked(asked: int, users: int, parties: int, data: str) -> str:
    held = "1 party" if parties == 1 else f"{parties} parties"
    return f"{asked:,} users were asked for: {held} of {data} have {users:,}, all took part"


def _group_left_out(levels: Sequence[int], role: str, reports: int, least: int) -> str:
    return f"the group of {_numbers('level', levels)} ({role}): {reports} reports, fewer than {least}: left out"


def _level_list_short(levels: Sequence[int], prefixes: int, least: int) -> str:
    return f"{_numbers('level', levels)} not pruned: the received list has {prefixes} prefixes, fewer than {least}"


def _level_without_validation(levels: Sequence[int], least: int) -> str:
    return f"{_numbers('level', levels)} not pruned: a validation set has fewer than {least} reports"


def _names_from_list(source: str, words: int, ordered: bool) -> str:
    order = "the most popular first" if ordered else "in no known order of popularity"
    return f"names are read from {source}: {words:,} words, {order}"


def _other_files_ignored(folder: str, files: Sequence[str], more: int) -> str:
    others = f" and {more:,} others" if more else ""
    return f"{folder}: read its Parquet files, and not {', '.join(files)}{others}"


def _traffic(bits: float) -> str:
    return f"{bits / 1e6:.1f} Mbit" if bits >= 1e6 else f"{bits / 1e3:,.0f} kbit"


def _panorama_upload(tau: float, bits: float) -> str:
    return f"each party uploads the names more than {tau:.2f} sd above its noise (up to {_traffic(bits)})"


def _upload_at_most(bits: float) -> str:
    return f"up to {_traffic(bits)} per party"


def _parties_alike(parties: Sequence[str]) -> str:
    names = f"{', '.join(map(repr, parties[:-1]))} and {parties[-1]!r}"
    return (
        f"parties {names} differ only in case, white space or how an accent is written; each is counted as a separate "
        "party"
    )


def _rows_left_out(file: str, left_out: int, rows: int, columns: Sequence[str]) -> str:
    named = " or ".join(map(repr, columns))
    return f"{file}: {left_out:,} of {rows:,} rows have no value in {named} and were left out"


def _set_counts(items_per_user: int, reading: str) -> str:
    if reading == "use_shares":
        return "counts are use shares: every user reports one item, drawn in proportion to her uses"
    if items_per_user == 1:
        return "counts are shares: every user reports one of her items, so she counts 1 / |S| for each of |S|"
    return (
        f"counts are holders: every user reports on at most {items_per_user} of her items, so of |S| items each counts "
        f"min(1, {items_per_user} / |S|): exact for users with at most {items_per_user}, for others a lower bound"
    )


def _texts_cut_short(items: int, bits: int, chunks: int, enough: int | None, share: float) -> str:
    advice = f"--set text_chunks={chunks} makes room for all of them"
    if enough is not None:
        advice = f"--set text_chunks={enough} makes room for {share:.0%} of all items, {chunks} for every one"
    return f"{_long_texts(items, bits)} ({advice})"


def _texts_too_long(items: int, bits: int, needed: int, most: int) -> str:
    return f"{_long_texts(items, bits)} (the longest would take {needed} chunks, the maximum is {most})"


def _long_texts(items: int, bits: int) -> str:
    return (
        f"{items:,} items have a text code longer than {bits} bits: if found, they show as a hash unless a word list "
        "names them"
    )


def _refused(meaning: str) -> Wording:
    def refused(devices: int) -> str:
        return f"{devices:,} {_plural('device', devices)} could not answer: {meaning}"

    return refused


NOTES: dict[str, Wording] = {
    "at_party": "party {party!r}: {note}",
    "canopy_kept": _canopy_kept,
    "canopy_levels": _canopy_levels,
    "canopy_noisy_oracle": (
        "canopy asks about thousands of candidates at the same time, where {oracle} is far noisier than the oracle auto"
    ),
    "canopy_oracle": "oracle {oracle} there: {reason}",
    "canopy_public_weights": "canopy: public weights of levels ({weights}), since every device draws its own level",
    "canopy_weights": _canopy_weights,
    "catalogue_repeats": "the catalogue names {items:,} items again: each counts once",
    "central_shortfall": (
        "{promised} against the server and readers, {wanted} was asked for: its groups are smaller than expected"
    ),
    "chosen_because": "chosen because {reason}",
    "chunks_left_out": _chunks_left_out,
    "columns_ignored": "{file}: ignored the columns {columns}",
    "epsilon_from_central": (
        "devices report with epsilon {epsilon:g}, which gives {wanted} against everybody but their party, if it is "
        "honest: computed for the smallest party, {users:,} users, half of them taken for fakes"
    ),
    "fewer_users_than_asked": _fewer_users_than_asked,
    "first_sheet_read": "{file}: read its first sheet, {sheet!r}, and none of {others} others",
    "group_left_out": _group_left_out,
    "groups_biased": "its groups are not what the weights of the task give (p < 1e-9)",
    "hashes_shared": "of {items:,} items about {chance:.1%} share their hash with another",
    "items_normalised": "items were normalised ({steps}): {merged:,} were merged with others",
    "items_share_codes": "{items:,} items share the code of another item and are counted with it",
    "items_shortened": "{items:,} items are too long for their code and were cut to what fits",
    "items_unfit": (
        "{items:,} items ({users:,} users) do not fit {encoding}, for example {example!r}: their users answer "
        "'none of these'"
    ),
    "level_list_short": _level_list_short,
    "level_without_validation": _level_without_validation,
    "list_normalised": "normalised alike ({steps}): {source}; {merged:,} of its items were merged with others",
    "local_epsilon_allowed": "the devices here allow epsilon {epsilon}; a person's allows {usual} by default",
    "local_reports_lowered": (
        "on one machine a level needs {reports} reports; a deployment asks for 500, and 100 to validate"
    ),
    "more_users_than_expected": (
        "{users:,} users, more than {times} times the {expected:,} expected: ask it where they are from"
    ),
    "names_from_list": _names_from_list,
    "names_left_out": "whole names: fewer than {least} reports, left out",
    "no_reports_at_levels": "party {party!r} had no reports at level {levels} and is left out of the sums there",
    "no_reports_elsewhere": "{parties:,} more parties had no reports at some levels",
    "nobody_to_share_with": "{mechanism}: there is only one party, and nobody to share with",
    "other_files_ignored": _other_files_ignored,
    "panorama_catalogue": "a catalogue of {items:,} items: each user reports her item once, by {oracle}",
    "panorama_not_run_with": "panorama counts every name and is not run with {oracles}",
    "panorama_reports": _panorama_reports,
    "panorama_upload": _panorama_upload,
    "parties_alike": _parties_alike,
    "prunes_with_another_list": "{missing!r} is missing: {party!r} prunes with the list of {author!r}",
    "read_as_western": (
        "{file} is not UTF-8 and was read as {encoding} (latin-1): --file-encoding names another encoding"
    ),
    "refused_budget_lifetime": _refused("their lifetime budget is spent"),
    "refused_budget_task": _refused("their owners allow less for one task"),
    "refused_budget_window": _refused("their budget is spent until their window is renewed"),
    "refused_not_my_week": _refused("they answer this campaign in another week of the cycle"),
    "rows_added_up": "{rows:,} repeated (party, item) rows were added up",
    "rows_left_out": _rows_left_out,
    "set_counts": _set_counts,
    "set_fake_weight": (
        "one crafted report adds as much to a count as {weight:.1f} users who hold the item ({single_weight:.1f} where "
        "everybody reports one item)"
    ),
    "set_rows_merged": "{rows:,} repeated (party, user, item) rows were merged, and their counts added up",
    "set_sizes_surveyed": (
        "{users:,} users, 5 % drawn at random, reported only how many items they hold, by k-RR: items_per_user = "
        "{items_per_user} was chosen from it, and the answer is about the others"
    ),
    "setting_unused": "{mechanism} does not use the setting {setting!r}",
    "texts_cut_short": _texts_cut_short,
    "texts_too_long": _texts_too_long,
    "upload_at_most": _upload_at_most,
    "upload_budget_exceeded": (
        "list and texts take about {needed:,} bits up per party, more than the upload budget of {budget:,}: names on "
        "no list are hardly looked for"
    ),
    "words_share_hash": (
        "{names:,} names of the answer are several words of the list that share a hash, joined by 'or': a list in "
        "order of popularity, or with a column 'frequency', would decide"
    ),
}
