"""What a process was started as."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..importing.site_answers import Answers
    from ..options import Options
    from ..program import Program


class Invocation:
    """``before_site``: ``site`` has not run yet, and will hear ``answers``; ``python``: by which name python-mpi
    starts this Python where a snapshot was prepared, empty where none was; ``unchanged``: an unchanged ``python``,
    which its search path has led here.
    """

    def __init__(
        self,
        options: "Options",
        program: "Program",
        answers: "Answers",
        before_site: bool,
        python: str,
        unchanged: bool,
    ) -> None:
        self.options = options
        self.program = program
        self.answers = answers
        self.before_site = before_site
        self.python = python
        self.unchanged = unchanged

    def key(self) -> str:
        """Return the name of its cached store, see ``key_of``. Raises OSError."""
        from ..store.key import key_of

        return key_of(self.program, self.options, self.before_site)

    def facts(self) -> "dict[str, list[str]]":
        """Return what that name is made of. Raises OSError."""
        from ..store.key import facts_of

        return facts_of(self.program, self.options, self.before_site)
