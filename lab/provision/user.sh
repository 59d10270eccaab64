#!/usr/bin/env bash
# Ensures the ordinary user of the container tests, able to use --fakeroot, and prints its name.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly NAME=mpiimport-test
# --fakeroot wants 65536 ids; FIRST is used only where useradd has not given a range by itself.
readonly FIRST=1700000000 COUNT=65536

ensure_range() {
    local file=$1 option=$2
    if ! grep -q "^$NAME:" "$file" 2>/dev/null; then
        touch "$file"
        usermod "$option" "$FIRST-$((FIRST + COUNT - 1))" "$NAME"
    fi
}

main() {
    if [ "$(id -u)" != 0 ]; then
        id "$NAME" >/dev/null 2>&1 || die "$EXIT_CANNOT" "there is no user $NAME and only root can make it"
        printf '%s\n' "$NAME"
        return 0
    fi
    lock_cache user
    if ! id "$NAME" >/dev/null 2>&1; then
        useradd --create-home --shell /bin/bash "$NAME"
        say "made the user $NAME"
    fi
    ensure_range /etc/subuid --add-subuids
    ensure_range /etc/subgid --add-subgids
    printf '%s\n' "$NAME"
}

main "$@"
