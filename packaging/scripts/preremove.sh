#!/bin/sh
# Takes away what was laid out. dpkg says remove or upgrade, rpm how many versions stay.
set -e

case $1 in
remove | 0) /usr/share/mpiimport/install.sh --uninstall /opt/mpiimport ;;
esac
