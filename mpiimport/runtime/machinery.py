"""The private parts of importlib that the runtime relies on, in one place; a test looks for them in every Python."""

import _imp
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any, TypeVar

    Function = TypeVar("Function")

_external: "Any" = sys.modules["_frozen_importlib_external"]
_internal: "Any" = _imp

classify_pyc = _external._classify_pyc
validate_hash_pyc = _external._validate_hash_pyc
validate_timestamp_pyc = _external._validate_timestamp_pyc
code_to_timestamp_pyc = _external._code_to_timestamp_pyc
supported_file_loaders = _external._get_supported_file_loaders
fix_co_filename = _internal._fix_co_filename


def as_importlib(function: "Function") -> "Function":
    """Let the interpreter take ``function`` for importlib's own, whose frames it leaves out of tracebacks and does not
    count for warnings. It knows them by the file name of their code.
    """
    inner: FunctionType = function  # type: ignore[assignment]
    inner.__code__ = inner.__code__.replace(co_filename=supported_file_loaders.__code__.co_filename)
    return function
