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


def _settings_file_invalid(name: str, problems: Sequence[str]) -> str:
    return f"{name}: {'; '.join(problems)}"


def _list_file_missing(expected: str, folder: bool) -> str:
    return f"expected a .txt file or {expected}, found {'a folder' if folder else 'none'}"


def _problems(begin: str) -> Wording:
    def worded(problems: Sequence[str]) -> str:
        return begin + "; ".join(problems)

    return worded


ERRORS: dict[str, Wording] = {
    "address_malformed": "expected an address such as https://party.example, found {url!r}",
    "address_not_host_port": "expected host:port such as 127.0.0.1:8443, found {value!r}",
    "address_not_https": "expected https://…: plain http is for this machine alone, found {url!r}",
    "address_with_password": "an address with a password is a secret: give it by …_url_file or …_url_env",
    "answered_another_list": "this task was answered for another candidate list: a second answer would cost again",
    "attribute_hidden": "--attribute: expected a name that can be seen, found {attribute!r}",
    "audit_file_malformed": "{path}: expected what `treetop audit --output audit.json` writes, found something else",
    "audit_file_unreadable": "{path}: cannot be read: {reason}",
    "audit_port": "the audit needs a port of 127.0.0.1, found none: {reason}",
    "back_end_key_missing": "back_end_access has no key given with key_file or key_env that is valid today",
    "bits_of_encoding": "the setting 'bits' is {bits}, found an encoding of {found} bits",
    "bits_out_of_range": "bits must be from {shortest} to {longest}, found {bits}",
    "bodies_scrubbed": "the bodies of {group} were scrubbed: they lie in report files",
    "budget_lifetime": _BUDGET.format(kind="lifetime"),
    "budget_task": _BUDGET.format(kind="task"),
    "budget_window": _BUDGET.format(kind="window"),
    "campaign_differs": "expected the campaign {digest}, found {found}",
    "campaign_in_rounds": "a campaign is asked in one-shot mode: devices answer on their own, found {mode}",
    "campaign_mechanism": "campaigns are asked of {seedable}, found {name}",
    "campaign_name_taken": "a campaign called {name!r} runs already: stop it first, or choose another name",
    "campaign_options_alone": "--weeks, --drift and --every are for --campaign",
    "campaign_over": "a campaign's last week must end in the future, found {over}, where it is {now}",
    "campaign_unaskable": _problems("a campaign cannot be asked: "),
    "campaign_unknown": "the server has no campaign {named!r}, found {known}",
    "campaign_users": "every party needs one user a week at least, {weeks}, found {sizes:,}",
    "campaign_week_unknown": (
        "the campaign has cycles 0 to {cycles} of weeks 0 to {weeks}, found week {week} of cycle {cycle}"
    ),
    "campaign_weeks": "a campaign has from {min_weeks} to {max_weeks} weeks, found {weeks}",
    "campaign_with_survey": "--campaign expects simulated users in one-shot mode, found --survey or --mode rounds",
    "candidates_malformed": "--candidates expects whole numbers below 2^64, one on a line: {reason}",
    "cannot_listen": "cannot listen on {address}: {reason}",
    "caps_not_decimal": "caps must be decimal numbers, found {given_caps}",
    "caps_not_positive": "caps must be above 0, found {given_caps}",
    "catalogue_and_word_list": "with a catalogue nothing is read from a word list: leave one of them out",
    "catalogue_bits": "a catalogue of {number:,} items needs {bits} bits, found {name_bits}",
    "catalogue_empty": "a catalogue or word list needs one item at least, found none",
    "catalogue_is_text": "a catalogue or word list must be a list of items, found the text {listed!r}",
    "catalogue_option_unused": "with a catalogue nothing is searched or encoded, found {found}: leave it out",
    "central_epsilon_range": "a central epsilon must be above 0 and at most {largest:g}, found {epsilon:g}",
    "central_epsilon_too_large": (
        "devices report with an epsilon of {allowed:g} at most, and a central epsilon of {epsilon:g} would take "
        "more: ask for a central epsilon of {central:g} or less"
    ),
    "central_epsilon_too_small": "expected a central epsilon that reports of epsilon 0.01 keep, found {epsilon:g}",
    "central_incomplete": (
        "a central guarantee is asked for by trust {trusted!r} and a central epsilon together, found one of "
        "them: it holds only if every party is honest"
    ),
    "central_needs_expected": "a central epsilon needs the expected users of every party, found none of {party!r}",
    "central_with_epsilon": "a central epsilon says which epsilon devices report with: leave out epsilon {epsilon}",
    "certificate_unusable": "the certificate {certificate} with the key {key} cannot be used: {reason}",
    "certificates_unreadable": "{ca_file}: no certificates can be read: {reason}",
    "channels_differ": "a channel for each of {parties} is needed, found {channels}",
    "codes_of_encoding": "Panorama counts indices of a catalogue, ids or hashes, got the encoding {encoding!r}",
    "column_kind": "{source}: column {name!r} must hold text or integers, found {type}",
    "column_not_numbers": "{source}: expected numbers in {name!r}, found other values: {reason}",
    "column_not_text": "{source}: column {name!r} does not read as text: {reason}",
    "column_not_whole": "{source}: expected whole numbers in {name!r}, found other values: {reason}",
    "column_of_several_kinds": "{shown}: column {name!r} holds values of several kinds: {reason}",
    "column_repeated": "{source}: expected one column {name!r}, found {times}",
    "column_type": "column {name!r} must be {dtype} in rows of shape {row}, found {found}",
    "columns_missing": "{source}: expected {wanted}, found {found}{hint}",
    "columns_named_alike": "expected a column for each of item, party and users, found {named}",
    "columns_uneven": "expected {number} columns of one length, found {columns}",
    "concentration_invalid": "concentration must be a finite number above 0, found {concentration}",
    "corpus_column_missing": "{path}: expected the column {column!r}, found {none}",
    "corpus_ending": "{path}: expected an ending of {formats}, found {none!r}",
    "corpus_line_malformed": "{path}: line {number}: expected an object with {wanted}, found another",
    "corpus_missing": "{pattern}: expected a corpus file, found none",
    "corpus_not_found": "{path}: expected a corpus file, found nothing there",
    "corpus_unreadable": "{path}: does not read as {ending}: {reason}",
    "crowd_empty": "a group has one report at least, found {reports}",
    "csv_empty": "{path}: expected the names of the columns in its first line, found an empty file",
    "csv_open_quote": (
        "{path}: row {num_rows}: expected a quote at the end of the value that begins with {written!r}, found "
        "the end of the file"
    ),
    "csv_ragged": (
        "{path}: row {number}: expected {expected} values, found {found}: {values!r} (values are separated by "
        "{delimiter!r}; --delimiter names another)"
    ),
    "csv_unreadable": "{path}: does not read as CSV: {reason}",
    "cycle_answered": "this cycle was answered already: a second answer would cost again",
    "cycle_has_week": "this cycle has its week already",
    "cycle_too_long": "a cycle must have at most the campaign's {weeks} weeks, found {cycle}",
    "cycle_without_week": "this cycle has no week that pays for the task",
    "dask_needs_scheduler": "--engine dask needs --scheduler tcp://HOST:PORT (or TREETOP_SCHEDULER)",
    "dask_unreachable": "no Dask scheduler answers at {scheduler}: {reason}",
    "data_of_unknown_kind": (
        "expected a Federation, a path, a {{party: items}} mapping or a pandas, polars, pyarrow or DuckDB table, "
        "found {name}"
    ),
    "data_without_sets": (
        "every user holds one item here, found {found}: expected data with a column of users (--user-column "
        "NAME, load(..., user=NAME))"
    ),
    "database_driver_missing": "{shown}: the driver of this database is not installed: {missing}",
    "database_query_failed": "{shown}: the query failed: {said}",
    "database_query_missing": "{shown}: expected what to ask the database, --query 'SELECT …' (query=), found none",
    "database_unusable": "the database cannot be used: {problem}",
    "database_url_malformed": "{shown}: expected the URL of a database, such as sqlite:///shop.db",
    "decompressed_too_large": (
        "{source}: it decompresses to more than {most:,} bytes, which no usual table does; decompress it "
        "yourself if you trust it"
    ),
    "delimiter_malformed": (
        "a delimiter is one character of ASCII, no quote and no end of a line, or {delimiters}, found {delimiter!r}"
    ),
    "delta_range": "delta must be above 0 and below 1, found {delta:g}",
    "delta_too_large": "delta must be at most 1/N = {largest:.2g} for {users:,} users, found {delta:g}",
    "device_epsilon_range": "a device's epsilon must be from 0.001 to 16, found {text}",
    "digest_malformed": "a {what} is named by 64 hexadecimal digits, found {digest!r}",
    "domain_too_small": "a domain needs one candidate and the dummy at least, found {size} slots",
    "domain_unsorted": "the candidates of a domain must be distinct and in ascending order",
    "download_address": "expected an http or https address of a file, found {url!r}",
    "download_checksum": "{path}: expected the checksum {sha256}, found {found}; delete it to fetch it again",
    "download_stopped": "{url}: the download stopped ({reason}); the same command goes on with it",
    "drift_needs_items": "items drift where there are 2 k = {k} of them at least, found {others}",
    "drift_out_of_range": "drift must be a number of items from 0 to k = {k}, found {drift:g}",
    "duration_malformed": "{option} expects a duration such as 90s, 15m, 24h or 7d, found {text!r}",
    "encoding_entry_point": (
        "an entry point of treetop.encodings must name a subclass of treetop.Encoding, found {entry!r}"
    ),
    "entry_point_name": "the entry point {name!r} must be named like its {kind}, found {found!r}",
    "entry_point_owners": "the {kind} {name!r} must have one owner, found {owners}",
    "entry_point_unloadable": "the {kind} {name!r} cannot be loaded from {value}: {reason}",
    "entry_written_elsewhere": "another process has written {entry} of the query; it is read anew",
    "environment_missing": "the environment has no variable {name}",
    "epsilon_needless_zeros": "epsilon must be written without needless zeros, found {text}",
    "epsilon_not_decimal": "epsilon must be written in decimal digits such as 0.5, found {text!r}",
    "epsilon_not_number": "epsilon must be a number, found {value!r}",
    "epsilon_range": "epsilon must be a finite number above 0 and at most {largest:g}, found {value}",
    "expected_malformed": "--expected expects NAME=USERS, found {pair!r}",
    "expected_twice": "--expected names {name!r} twice",
    "expected_users_invalid": (
        "expected users of {party!r} must be a whole number from 1 to {max_tickets}, found {users!r}"
    ),
    "expected_users_out_of_range": "expected_users must be from 1 to {max_tickets}, found {expected_users}",
    "federation_differs": (
        "this directory holds a federation with {name} = {known}, found {value}: leave the option out to go on "
        "with it, or name another directory"
    ),
    "federation_empty": "a federation needs one party at least, found none",
    "federation_file_malformed": "{json}: expected what treetop up wrote, found something else",
    "field_not_number": "{name} must be a {float}number, found {text!r}",
    "file_elsewhere": "{shown}: expected a file on this machine or the URL of a database, found one elsewhere",
    "file_encoding_unknown": (
        "unknown file encoding {encoding!r}, expected {encodings} or another name that Python knows"
    ),
    "file_ending_unknown": "{path}: expected {expected}, found the ending {none!r}",
    "file_is_another_kind": "{path}: ends in {ending}, but is {found}",
    "file_is_not_its_kind": "{path}: ends in {ending}, but is {no}",
    "file_missing": "{path}: expected {expected}, found {found}",
    "file_named_twice": "{path} is named twice and would be counted twice",
    "file_not_new": "{path} {problem}: expected a new file",
    "file_unreadable": "{longest_path}: cannot be read: {reason}",
    "file_unreadable_as": "{path}: {wrong}: {reason}",
    "files_named_alike": "files without a 'party' column need different names, found {names}",
    "files_refused": "{read}: {refusal}",
    "fleet_state_differs": "this state is of a fleet with {name} {kept}, found {value}: use another folder",
    "flower_missing": (
        "expected the bridge to Flower in {environment}, found no {command}: `make flower` makes .venv-flower, "
        "--flower-environment or TREETOP_FLOWER names another place"
    ),
    "flower_needs_every": "--carrier flower needs --every: a message takes seconds, as weeks do unless told otherwise",
    "folder_not_writable": "{folder}: expected a folder that can be written, found {reason}",
    "folder_of_unlike_files": "{path}: its Parquet files do not read as one table: {reason}",
    "folder_without_parquet": "{path}: expected {expected}, found a folder without Parquet files",
    "folder_without_survey": "this directory holds a federation without a survey: name another directory",
    "follow_needs_folder": "--follow expects --tickets to be a folder with a file for each task, found {file}",
    "follow_with_task": "--follow answers every task that it has tickets for: leave --task out",
    "form_expired": "this form was opened more than an hour ago: look at it again, then send it",
    "gpu_oracle": "the gpu engine counts olh and walsh alone, found {oracle}: use embedded",
    "grid_values": "{what} must name one value at least and none twice, found {names}",
    "group_answered": "{group} has answered already: its users would report twice",
    "group_not_closed": "{group} must be closed before its bodies are used",
    "group_taken": "{group} has its users already: others cannot join it",
    "group_too_large": "{group} would have {size:,} users, but only {left:,} are in no group yet",
    "group_unknown": "{group} is not a group of this party's users",
    "group_weights_missing": "a deployment of {name} expects group_weights, since users are not divided at once",
    "groups_not_independent": (
        "devices draw their own groups: the setting 'groups' must be independent in a federation"
    ),
    "hash_key_length": "hash_key must be 1 to {longest_hash_key} bytes of UTF-8, found {number}",
    "histogram_columns": "{path}: expected the columns {wanted}, found {there}",
    "histogram_not_parquet": "{path}: expected a Parquet file, found one that does not read as such",
    "histograms_missing": "{folder}: expected a folder of histograms, found none",
    "ids_too_long": "ids that are counted as they are must be below 2^{max_code_bits}, found longer ones",
    "item_column_missing": "{path}: expected the column 'item', found {found}",
    "item_env_missing": "--item-env: there is no environment variable {name}",
    "item_given_twice": "expected --item once, found it several times: a set, of any size, is given by --items",
    "item_list_too_long": "a list takes {max_list_bytes:,} bytes at most, found {number:,}",
    "item_list_unusable": "a list of items cannot be used: {problem}",
    "item_option_needed": "expected one of --item, --item-env, --item-file and --items",
    "item_users_malformed": "party {party!r}, item {item!r}: expected a whole number of users, found {users!r}",
    "items_per_user_as_setting": (
        "a federation expects items_per_user beside the settings (--items-per-user), found it among them"
    ),
    "items_per_user_auto_unsettled": (
        "items_per_user = {auto_items} is settled anew by every run: expected a whole number, which `find` says"
    ),
    "items_per_user_invalid": "items_per_user must be a whole number from 1 to {max_items}, found {items}",
    "items_per_user_not_number": "items_per_user must be {auto_items!r} or a whole number, found {given!r}",
    "items_per_user_range": (
        "items_per_user must be 'auto' or a whole number from 1 to {max_items}, found {items_per_user}"
    ),
    "items_unavailable": "the device's own items could not be read",
    "json_lines_encoding": "{path}: JSON lines are in UTF-8, found {found}",
    "json_lines_first_row": "{path}: row 1: expected a JSON object on each line, found {found}",
    "json_lines_kind": "{path}: row {row}: expected {kind} in {name!r}, as in row 1, found {value}",
    "json_lines_row": "{path}: row {row}: expected a JSON object on each line, found {shown}",
    "json_lines_unreadable": "{path}: does not read as JSON lines: {reason}",
    "k_invalid": "k must be a whole number of at least 1, found {k}",
    "k_out_of_range": "k must be from 1 to {max_k:,}, found {k:,}",
    "k_too_large": "k must be at most the {distinct:,} distinct items{others}, found {k}",
    "key_dates_reversed": "not_before must come before not_after",
    "key_file_empty": "--key-file {key_file}: expected a key, the file is empty",
    "key_file_not_ascii": "--key-file {key_file}: expected a key in ASCII, found something else",
    "key_file_unreadable": "--key-file {key_file} cannot be read: {reason}",
    "key_given_in_one_way": "give one of key_file, key_env and sha256",
    "key_malformed": "{path}: expected 64 hexadecimal digits or an Ed25519 key in PEM",
    "key_of_another_kind": "{path}: expected an Ed25519 key, found another kind",
    "key_too_short": "a key must have {min_secret_bytes} characters at least",
    "keys_and_names": "either keys are counted or all names of {bits} bits, found both",
    "keys_malformed": "keys must be a row of uint64, found {dtype} of shape {shape}",
    "keys_not_taken": "{oracle} counts its slots and takes no keys, found {number}",
    "labels_repeated": "{name}: every label must be used once, found {labels}",
    "ledger_refused": "the ledger's {what} should be {expected}, found {found}",
    "levels_out_of_range": "levels must be from 1 to the {bits} bits of a code, found {levels}",
    "lifetime_epsilon_invalid": "lifetime_epsilon must be a number above 0, at most {max_epsilon}, found {given}",
    "line_in_another_encoding": (
        "{path}: line {line}: expected text in {encoding}, found the byte 0x{start:02x}; --file-encoding names "
        "another encoding"
    ),
    "line_not_text": "{path}: line {line}: expected text in {name}, found the byte 0x{start:02x}",
    "list_empty": "expected a list with one item at least, one per line, found none",
    "list_file_missing": _list_file_missing,
    "list_file_refused": "{refusal}",
    "list_malformed": "{option} expects {what} separated by commas, found {text!r}",
    "list_missing": "expected a list, found none",
    "list_unknown": "expected a list that was put to /v1/lists before, found none of digest {digest}",
    "lists_too_long_for_oracle": (
        "the oracle {oracle!r} has at most {longest:,} slots, found candidate lists of up to {max_slots:,}: ask "
        "for more levels or another oracle"
    ),
    "lists_too_short": (
        "devices answer candidate lists of {min_slots} slots at least, found {slots} at level {level} ({value}): "
        "ask for {instead}"
    ),
    "lists_without_panorama": "catalogue, word list and text recovery are for panorama, found other mechanisms only",
    "max_times_expected_invalid": (
        "max_times_expected must be a whole number from 1 to {largest_multiple}, found {max_times!r}"
    ),
    "mechanism_entry_point": "an entry point of {group} must name a Mechanism, found {entry!r}",
    "mechanism_not_registered": (
        "a deployment finds its mechanism by name at every party: {name!r} must be declared as an entry point of "
        "{group}"
    ),
    "mechanism_without_sets": (
        "{mechanism} asks every user for the one item that she holds, found users who report on up to {items}: "
        "expected {instead}, or items_per_user = 1, where each reports one of hers"
    ),
    "message_form_missing": "{name} expects encode_message and decode_message, found neither",
    "messages_too_long": (
        "a party takes messages of {max_message_bytes:,} bytes at most, found up to {found:,} in {what}: keep "
        "fewer prefixes, or ask for fewer items or more levels"
    ),
    "mode_not_supported": "{name} can be asked {known}, found {mode}",
    "name_bits_too_many": "names that are counted all at once have at most {max_code_bits} bits, found bits = {bits}",
    "name_malformed": "{problem}",
    "names_need_hashing": "names are reported through an oracle that hashes them, walsh or olh, found {name}",
    "names_not_counted": "{name} does not count every name of {bits} bits: only walsh does",
    "nested_too_deep": "{source}: lists or objects are nested deeper than {most}; a row is a flat object",
    "no_enrolment": "a one-shot task has no enrolment: send the report",
    "no_files": "expected one file at least, found none",
    "no_item_fits": "no item fits {title}, found for example {items!r}",
    "no_party_left": "no party is left: {reasons}",
    "no_party_ticked": "a query needs one party at least, found none ticked",
    "no_report_to_send": "this task has no report to send",
    "not_a_date": "must be a date or a time, found {value!r}",
    "not_a_federation": "{path}: expected a federation's directory, found no federation.json",
    "not_a_path": "must be a path, found {value!r}",
    "not_a_report_file": "not a file of reports",
    "not_a_text": "must be a text, found {value!r}",
    "not_toml": "{name} is not TOML: {reason}",
    "option_file_missing": "{option}: there is no file {file} that can be read",
    "option_file_unreadable": "{option} {path} cannot be read: {reason}",
    "option_needed": "{option} is needed",
    "option_not_hexadecimal": "{option}: expected {length} hexadecimal digits, found something else",
    "oracle_cannot_discover": (
        "names on no list are found through an oracle that counts every name, {name}, found {oracle_name}"
    ),
    "oracle_entry_point": "an entry point of {group} must name an Oracle, found {entry!r}",
    "oracle_name_or_tag": (
        "an oracle of another package has a name that no rule has ({for_long_lists}) and a tag from {first_tag} "
        "to {last_tag}, found {name!r} with tag {tag}"
    ),
    "oracle_tags_alike": "the oracles {first!r} and {second!r} both have the tag {tag}",
    "oracle_without_sets": "users who hold sets report through {set_forms}, found {name!r}",
    "order_choice_unknown": "expected one of {durations}, found {collect!r}, {policy!r}",
    "order_field_malformed": "{first}: {msg}",
    "order_text_malformed": "the {what} {problem}",
    "origin_malformed": "{problem}",
    "output_ending": "{path}: an output ends in one of {endings}",
    "output_ending_of_text": "{path}: expected .json or .txt for this result",
    "output_exists": "--output {output} exists already: expected a new file",
    "output_failed": _output_failed,
    "output_folder_closed": "{path}: no file can be made in this folder ({reason}); name another folder",
    "output_folder_missing": "{path}: the folder does not exist; make it, or name another",
    "output_name_too_long": "{path}: the name has {found} bytes, at most {longest} are possible; name a shorter one",
    "output_not_a_file": "{path}: this is no regular file; name another",
    "panorama_oracle": "panorama needs an oracle that counts every name, walsh or auto, found {found}",
    "parties_silent": "no answer from {silent}; the query can be resumed",
    "parties_too_few": "{name} has {parties} parties, found {asked} asked for",
    "party_empty": "party {party!r} is empty: expected one user at least, found none",
    "party_failed": "party {party!r} {reason}",
    "party_key_too_short": "the key of a party must have {min_secret_bytes} characters at least",
    "party_malformed": "party {party!r} must hold items or a mapping of items to users, found {held!r}",
    "party_name_needed": "--party-name is needed: the task has {number} parties",
    "party_settings_missing": "--settings party.toml is missing: the file that says who this party is",
    "party_size": "every party needs a size of 1 at least, found {sizes}",
    "party_too_large": "party {name!r} has {total:,} users: a simulated party must have fewer than {users_below:,}",
    "party_unreachable": "party {name!r} does not answer: {reason}",
    "party_users_negative": "users of a party must be 0 (not known) or more, found less for {wrong!r}",
    "party_users_too_few": "party {party!r} has {total:,} users, found {users:,} asked for",
    "party_without_sets": "party {name!r} has one item for each user, and other parties have sets of them",
    "path_not_utf8": "{path}: expected a path in UTF-8, found other bytes in it",
    "patience_invalid": "patience must be seconds above 0, found {patience}",
    "peer_violation": "{what}: expected {expected}, found {found}",
    "plan_campaign_option": "a campaign is planned by --weeks and --lifetime-epsilon, found {found}",
    "plan_campaign_options_alone": "--weeks and --lifetime-epsilon are for campaigns: expected --campaign, found none",
    "plan_frequency": "frequency must be a share above 0 and below 1, found {frequency}",
    "plan_list_size": "a {what} must hold k = {k} to {max_items:,} items, found {size}",
    "plan_users": "users must be a whole number from 1 to {max_users:,} for each party, found {users}",
    "plan_users_missing": "a plan needs the users of every party that is asked, found none for {unknown!r}",
    "postgres_address": (
        "a PostgreSQL store is postgresql://user@host:port/database with options that libpq knows, found another"
    ),
    "private_set_copied": "a private set cannot be serialised or copied",
    "private_value_copied": "a private value cannot be serialised or copied",
    "probabilities_invalid": "expected probabilities 0 <= q < p <= 1, found p = {p} and q = {q}",
    "query_failed": "{doing}",
    "query_not_reading": "{url}: a query is one SELECT, WITH, VALUES or TABLE statement; nothing else is carried out",
    "query_refused": "the server refuses the query{body}",
    "query_without_answer": "the query ended without an answer: {doing}",
    "query_without_database": "a query is for a database such as sqlite:///shop.db, found {word!r}",
    "query_without_parties": "a query needs one party at least, found none",
    "question_malformed": "--question {problem}",
    "reading_occurrences": (
        "occurrences are not counted: a user with many would weigh as much as many users, and one report that "
        "hides whether she does says too little; expected one of {readings}"
    ),
    "reading_of_one_item": (
        "the reading {reading!r} lets every user report one item: expected items_per_user = 1, found {items_per_user}"
    ),
    "recipe_corpus": "recipe {name!r}: a corpus needs files or a url, found neither",
    "recipe_party_names": "recipe {name!r}: every party needs a name of its own, found {names}",
    "recipe_sources": "recipe {name!r}: expected either [[parties]], or [log] and [split]",
    "recipe_split": "recipe {name!r}: only a click log can be split into parties",
    "repeats_invalid": "repeats must be a whole number of at least 1, found {repeats}",
    "repeats_out_of_range": "repeats must be from 1 to {max_repeats}, found {repeats}",
    "replies_too_long": (
        "a server takes replies of {max_reply_bytes:,} bytes at most, found counts of up to {longest:,} "
        "candidates in {reply:,}: keep fewer prefixes, or ask for fewer items or more levels"
    ),
    "report_bits_set": "a report of {report_slots} bits has others set behind them",
    "report_file_differs": "{what}: expected {expected}, found {found}",
    "report_file_format": "expected format {format}, found {found}",
    "report_file_metadata": "its metadata were changed",
    "report_file_refused": "{path}: {reason}; nothing was counted",
    "report_kind_level": "levels are counted from 1, found {level}",
    "report_kind_slots": "{oracle} has {slots_rule} slots, found {slots}",
    "report_location_malformed": "{expected}; found another address, which is not shown, as it may hold a secret",
    "report_location_missing": "{expected}",
    "report_missing": "a report is missing",
    "report_out_of_range": "a report is outside the {slots} slots of its kind",
    "report_refused": "report refused, {what}: expected {expected}, found {found}",
    "reports_negative": "reports must be 0 at least, found {reports}",
    "reports_not_exported": "reports cannot be exported: {reason}",
    "reports_not_stored": "reports cannot be put into {folder}: {name}",
    "role_needs_postgres": "--role needs a PostgreSQL store: an SQLite file has one owner",
    "rotation_users": "{users:,} users are too few for {weeks} weeks: nobody is left for week {week}",
    "row_malformed": "{source}: row {row}: expected {expected}, found {found}{hint}",
    "row_too_long": "{source}: a row has more than {most:,} bytes; shorten its values, or close a quote that is open",
    "rows_all_incomplete": "{source}: expected one whole row at least, found a gap in every one",
    "run_differs": "{folder} was begun with {was}; it cannot go on with {now}",
    "run_exists": "{folder} already holds a run: add --resume to go on with it, or name another folder",
    "run_file_damaged": "{path}: is damaged; name another --output",
    "run_line_damaged": "{path}: line {number} is damaged; name another --output",
    "secret_empty": "the secret in {name} is empty",
    "secret_not_named": "must be given by a name, found something else",
    "secret_readable_by_others": (
        "{path} holds a secret and must be for its owner alone, expected mode 600, found {mode:o}: chmod 600 {quoted}"
    ),
    "secret_unreadable": "{name} cannot be read: {reason}",
    "seed_out_of_range": "seed must be from 0 to {most:,}, found {seed}",
    "seed_too_long": "seeds must be codes of {bits} bits, found {codes:x}",
    "seeds_in_rounds": (
        "devices that are asked in rounds refuse names that do not descend from the level before: seeds are for "
        "one-shot mode, found rounds"
    ),
    "serial_out_of_range": "serial numbers run from 0 to {last_serial}, found others",
    "server_key_malformed": "a server's public key is 64 hexadecimal digits, found something else",
    "server_key_weak": "a server's public key is one that anybody can sign for, such as 64 zeros",
    "server_unreachable": "the server at {name} does not answer: {reason}",
    "set_malformed": "--set expects NAME=VALUE, found {pair!r}",
    "set_option_without_sets": "{wrong} is about users who hold sets: expected --user-column beside it, found none",
    "set_report_items": "a set report speaks of 1 to {slots} items, found {items}",
    "set_too_large": "a device looks at {largest_set:,} uses at most, found a user with {most:,}",
    "set_twice": "--set names {name!r} twice",
    "sets_in_rounds": "devices that hold sets are asked in one-shot mode, found {mode}",
    "sets_without_question": "users hold sets of items here: expected a question to them, which `find` asks",
    "setting_invalid": "setting {name!r} expects {expects}, found {value!r}",
    "settings_file_invalid": _settings_file_invalid,
    "settings_invalid": _problems(""),
    "settings_unreadable": "{path} cannot be read: {reason}",
    "sha256_guessable": "sha256 is the digest of an empty key or of a word that anybody tries first",
    "sha256_malformed": "sha256 must be 64 hexadecimal digits",
    "share_out_of_range": "the share of users must be above 0 and at most 1, found {share}",
    "shared_process_listens": "parties that share a process listen on this machine alone, without [tls] and --role",
    "signing_key_length": "a signing key is {seed_bytes} bytes, found {number}",
    "signing_key_unreadable": "{path}: no signing key can be read: {reason}",
    "slots_out_of_range": "a domain has from 2 to {max_slots} slots, the dummy counted, found {slots}",
    "spectra_differ": "spectra add up for the same bits and outcomes, expected {expected}, found {found}",
    "spectrum_bits": "names that are counted all at once have from 1 to {max_bits} bits, found {bits}",
    "sqlite_url_not_a_path": "{url}: an SQLite file is named by its path alone, as in sqlite:///shop.db",
    "starts_malformed": "--starts expects now, or a time such as 2027-01-04T00:00Z, found {starts!r}",
    "stay_with_campaign": "--open and --stay are for a single query: leave them out with --campaign",
    "step_too_large": (
        "a step of {step} bits from {prefixes} prefixes makes {candidates:,} candidates, at most "
        "{max_candidates:,} are handled: ask for more levels"
    ),
    "store_busy": "{waiting} reports wait to be written; try again in {retry_after} s",
    "store_closed": "the store was closed",
    "store_closed_at": "the store {path} was closed",
    "store_closing": "the store is being closed",
    "store_damaged": "the store of task {task} is damaged: {what}; restore a backup, nothing was counted",
    "store_held": "the store {shown} is held by another process",
    "store_held_exclusively": "the store {shown} is held by a process that is alone",
    "store_malformed": (
        "{expected}, found something that is neither and is not shown, as it may hold a password; in an address, "
        "signs such as @ / ? # in a name or password are written %40 %2F %3F %23"
    ),
    "store_missing": "{expected}, found nothing",
    "store_not_open": "the store was never opened",
    "store_not_opened": "the store {path} cannot be opened: {reason}",
    "store_not_text": "{expected}",
    "store_refused": "the store {where} was not opened: {reason}",
    "store_rolled_back": (
        "the store {where} was put back to commit {commits} while it was open at commit {last}: nothing is "
        "written into an older store"
    ),
    "store_unusable": "the store cannot be used: {reason}",
    "strategy_needs_catalogue": "the strategy 'catalogue' expects a catalogue, found none",
    "strategy_option_unused": "the strategy {strategy!r} has no use for {found}: leave one of them out",
    "survey_file_malformed": "{json}: expected what treetop up wrote",
    "survey_in_rounds": "--survey expects --mode one-shot: nobody keeps a page open for rounds",
    "survey_options_alone": "--question, --collect and --origin are for --survey",
    "syn_alone": "'syn' is a whole federation of its own, found it among {words}",
    "syn_concentration": "expected syn:SEED:CONCENTRATION with a number above 0, found {words!r}",
    "syn_seed": "expected syn:SEED with a whole number from 0, found {words!r}",
    "syn_without_users": "'syn' has one item for each user, found the user column {user!r}",
    "table_empty": "{source}: expected one row at least, found an empty table",
    "task_differs": "task {task} is here already, with another document",
    "task_forgotten": "task {task} is over and was forgotten: it has no more tickets",
    "task_has_entry": "this task has an entry already",
    "task_has_report": "this task has a report already",
    "task_not_about_sets": "these users hold sets of items: expected a task about sets, found one about single items",
    "task_option_malformed": "--task expects 64 hexadecimal digits, found {task!r}",
    "task_unaskable": _problems("a task cannot be asked: "),
    "text_bits": "the encoding 'text' needs bits in multiples of 8, found {bits}",
    "text_chunks_without_hash": "parts of a text are reported behind its hash, found the encoding {name!r}",
    "text_in_another_encoding": (
        "{path}: expected text in {encoding}, found other bytes; --file-encoding names another"
    ),
    "text_not_unicode": "parties and items must be text in Unicode, found half a character: {found!r}",
    "ticket_and_standard_input": "expected one of --ticket-file and {option} on standard input, found both",
    "ticket_count": "tickets of a task that is not forgotten are issued from 1 upwards, found {count}",
    "ticket_file_count": "--ticket-file {path}: expected one ticket, found {number}",
    "ticket_length": "a ticket is {ticket_bytes} bytes, found {number}",
    "ticket_secret_short": "the secret of tickets must be 32 bytes at least, found {number}",
    "tickets_after_close": "tickets are issued while a task is open: this one has closed",
    "tickets_at_once": "tickets are issued from 1 to {max_tickets_at_once} at once, found {count}",
    "tickets_contended": "other processes keep using the same tickets; nothing was kept",
    "tickets_exhausted": "tickets are issued from 1 up to {last_serial} in all, found {count} more",
    "tickets_too_few": "{devices:,} devices need a ticket each, found {tickets:,} tickets",
    "tls_minimum_unknown": 'minimum must be "1.2" or "1.3", found {minimum!r}',
    "toml_nested_too_deep": "{name}: lists or tables are nested too deep; no setting is a list of lists of lists",
    "too_many_candidates": (
        "lists of at most {max_candidates:,} candidates are counted, found up to {candidates:,} at level "
        "{level}, {shorter} bits behind {kept:,} prefixes: keep fewer or ask for more levels"
    ),
    "too_many_columns": "{source}: it has {found:,} columns, at most {most:,} are read; leave out what is not needed",
    "too_many_groups": "a store has {max_groups} groups at most; begin a new one",
    "too_many_reports": "at most {max_reports:,} reports are counted at once, found {reports:,}",
    "too_many_tickets": "a task has {max_tickets} tickets at most",
    "unknown_name": _unknown_name,
    "upload_budget_too_small": "upload_budget must be at least {least:,} bits for k = {k}, found {budget:,}",
    "upload_form_missing": "{name} expects encode_upload and decode_upload, found neither",
    "uploads_without_wire": (
        "{name} sends {uploads} uploads: a deployment expects encode_upload and decode_upload, found neither"
    ),
    "user_column_and_rows": "expected a user column or rows that are users, found both: {user!r} and rows_are_users",
    "user_column_of_mapping": "a user column is one of a file or a table, found {user!r} with {name}",
    "user_column_reserved": "expected a column of user ids beside party, item and count, found {user!r} named as one",
    "user_column_unnamed": (
        "{source}: the column {column!r} looks like a user's id, and nobody said so: expected --user-column "
        "{column} (load(..., user={column!r})) where its rows are the items of one user, or --rows-are-users "
        "(rows_are_users=True) where every row is a user of her own"
    ),
    "user_in_two_parties": (
        "user {user!r} is in two parties, {first!r} and {second!r}: expected one each, since she would answer, "
        "and pay, twice"
    ),
    "users_beside_user": (
        "{source}: expected rows of one user each, found the column 'users' beside {user!r}: leave one of them out"
    ),
    "users_too_few": "expected one user for each of {number} parties at least, found {users}",
    "value_missing": "{source}: row {row}: expected a value for {name!r}, found none; {how_to_drop}",
    "value_out_of_range": "a value must be from 0 to d - 1 = {d}, found {value}",
    "value_too_large": "expected a {what} below {size}, found {largest}",
    "value_unavailable": "the device's own value could not be read",
    "variant_needs_word_list": "panorama:list expects a word list, found none",
    "variant_unknown": "variants are those of panorama, found {mechanism!r}",
    "waited_too_long": "{otherwise} within {waiting_seconds:.0f} s: {reason}",
    "walsh_slots": "walsh has a power of two from 2 to {most} as its slots, found {slots}",
    "week_ordered_before": "the week was ordered as task {other}, found {digest}",
    "weeks_out_of_range": "{what} must be from {min_weeks} to {max_weeks} weeks, found {found}",
    "word_column_missing": "{source}: expected the column 'word' or 'item', found {found}",
    "word_list_frequencies": "a word list must map words to their frequencies, found other values: {reason}",
    "word_list_order_alone": "expected a word list to stand in the order {order!r}, found none",
    "word_list_unknown": "{expected}, found {path!r}: {refusal}",
    "wordfreq_malformed": "expected wordfreq:LANGUAGE[:NUMBER] such as wordfreq:en:50000, found {name!r}",
    "workbook_damaged": "{path}: is a damaged Excel file: {reason}",
    "workbook_header_gap": "{path}: expected the names of the columns in row 1 of {title!r}, found a gap",
    "workbook_rows": "{source}: its first sheet claims more than {most:,} rows, which no sheet has; save it again",
    "workbook_with_entities": "{source}: its XML defines entities, which no workbook needs; it is not read",
    "workers_invalid": "workers must be a whole number of at least 1, found {workers}",
}
