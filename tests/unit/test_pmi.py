"""Which versions of PMIx work with each other, as the table of OpenPMIx and Open MPI has it."""

import pytest

from mpiimport.host.abi.pmi import PMI, PMIX, Speech, fits, library_speech, versions_fit


@pytest.mark.parametrize(
    ("one", "other", "fit"),
    [
        ("5.0.11rc1", "4.2.2", True),
        ("3.1.5", "5.0.0", True),
        ("2.1.1", "3.0.0", True),
        ("2.0.3", "2.1.1", True),
        ("1.2.5", "2.1.1", True),
        ("2.0.2", "2.0.0", True),
        ("2.0.2", "2.1.1", False),
        ("2.1.0", "3.1.2", False),
        ("1.2.4", "4.2.2", False),
        ("1.1.5", "5.0.0", False),
        ("4", "5.0.11", True),
        ("2", "5.0.11", False),
        ("", "1.2.0", True),
    ],
)
def test_versions_of_pmix_fit_as_their_makers_say(one: str, other: str, fit: bool) -> None:
    assert versions_fit(one, other) == versions_fit(other, one) == fit


def test_a_library_speaks_what_it_was_built_for() -> None:
    assert library_speech("Open MPI v5.0.11", "5.0.11rc1") == Speech((PMIX,), "5.0.11rc1")
    assert library_speech("MPICH Version: 5.0.2", "") == Speech((PMI,))
    assert library_speech("MPICH Version: 5.0.2", "4.2.2") == Speech((PMI, PMIX), "4.2.2")
    # Which plugin this one would load is not known before MPI starts.
    assert library_speech("Open MPI v4.1.4", "") is None
    # Of these the site names the PMI.
    assert library_speech("Intel(R) MPI Library 2021.19", "") is None
    assert library_speech("MPI VERSION : CRAY MPICH version 8.1.29", "") is None
    assert library_speech("Another MPI", "") is None


def test_two_sides_fit_by_one_protocol_that_both_speak() -> None:
    both = Speech((PMI, PMIX), "1.2.0")
    assert fits(Speech((PMI,)), both)
    assert fits(Speech((PMIX,), "1.2.3"), both)
    assert not fits(Speech((PMIX,), "4.2.2"), both)
    assert not fits(Speech((PMI,)), Speech((PMIX,), "4.2.2"))
