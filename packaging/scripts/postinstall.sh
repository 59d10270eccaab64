#!/bin/sh
# Lays mpiimport out, or replaces what an earlier version laid out. The shim is not put on PATH: a site decides that.
set -e

PYTHON=/usr/bin/python3 /usr/share/mpiimport/install.sh /opt/mpiimport
