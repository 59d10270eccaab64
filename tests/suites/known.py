"""What is known of single tests of the suites, by name, with the reason."""

EXACT_CLASS = "asks for importlib's own loader class; a loader of the store is a subclass (docs/behaviour.md)"

# Tests that end otherwise when mpiimport starts MPI, which it does not where a store is kept.
MPI_STARTED = {
    "test_errhandler.TestErrhandlerComm.testCreate": "mpi4py has room for 32 Python error handlers, and one is ours",
}
# Tests that end otherwise when served.
DIFFERENT: dict[str, str] = {
    # CPython 3.12 and newer.
    "setUpClass (test.test_import.SinglephaseInitTests)": EXACT_CLASS,
    **{
        f"test.test_import.SinglephaseInitTests.test_{name}": EXACT_CLASS
        for name in (
            "basic_multiple_interpreters_deleted_no_reset",
            "basic_multiple_interpreters_main_no_reset",
            "basic_multiple_interpreters_reset_each",
            "basic_reloaded",
            "check_state_first",
            "cleared_globals",
            "variants",
            "with_reinit_reloaded",
        )
    },
    **{
        f"test.test_import.SubinterpImportTests.test_{name}": EXACT_CLASS
        for name in (
            "isolated_config",
            "multi_init_extension_compat",
            "python_compat",
            "single_init_extension_compat",
            "singlephase_check_with_setting_and_override",
        )
    },
}
# Tests that end otherwise when started from a snapshot.
FROM_A_SNAPSHOT = {
    "test.test_trace.TestCallers.test_loop_caller_importing": "`trace` asks gc.get_referrers, which passes over the "
    "objects of the snapshot (docs/behaviour.md)",
}

# Suites of one Python that end before their tests do.
ABORTED: dict[tuple[str, str], str] = {
    ("test_importlib", "3.12"): "3.12.1 aborts in test_single_phase_init_module: a subinterpreter loads, from its own "
    "place, an extension module of the old kind that the main one has from the store (docs/behaviour.md)",
}

# Tests that do not always end the same without mpiimport either.
UNSTABLE = {
    "test.test_sys.SysModuleTest.test_getallocatedblocks": "earlier tests may free memory between two counts",
}
