"""A stand-in for PETSc's Python interface."""


def init(args=None, arch=None, comm=None):
    from petsc4py import PETSc

    PETSc._initialize(args, arch, comm)


def get_config():
    return {"PETSC_DIR": "/usr", "PETSC_ARCH": ""}
