from treetop.errors import InvalidInput, TreetopError, UnknownName


def test_an_unknown_name_offers_the_nearest_one() -> None:
    refusal = UnknownName("mechanism", "tapps", ["fedpem", "taps"])
    assert str(refusal) == "unknown mechanism 'tapps', expected one of fedpem, taps; did you mean 'taps'?"
    assert (refusal.kind, refusal.found, refusal.known) == ("mechanism", "tapps", ("fedpem", "taps"))


def test_a_name_like_no_other_gets_no_hint() -> None:
    assert "did you mean" not in str(UnknownName("oracle", "zzz", ["krr", "oue"]))


def test_bad_input_is_a_value_error_of_the_family() -> None:
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InvalidInput, TreetopError)
