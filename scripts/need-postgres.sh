#!/bin/sh
# Makes sure that the server programs of Postgres 15 to 18 are installed. Silent
# if they are. A cluster that the package starts by itself is left alone: the
# program runs its own.
set -eu

# The same places as in postgres/installation.go.
places='
/usr/lib/postgresql/*/bin
/usr/pgsql-*/bin
/usr/lib/postgresql*/bin
/usr/libexec/postgresql*
/opt/homebrew/opt/postgresql@*/bin
/usr/local/opt/postgresql@*/bin
/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin
/Applications/Postgres.app/Contents/Versions/*/bin
'

# supported DIRECTORY succeeds if the directory has the programs of a version
# that will do.
supported() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	case $("$1/postgres" --version 2>/dev/null) in
	'postgres (PostgreSQL) 1'[5-8]*) return 0 ;;
	*) return 1 ;;
	esac
}

# find_postgres succeeds if there is such a directory.
find_postgres() (
	IFS=:
	for directory in $PATH; do
		if supported "$directory"; then exit 0; fi
	done
	IFS='
'
	for directory in $places; do
		if supported "$directory"; then exit 0; fi
	done
	exit 1
)

find_postgres && exit 0

"$(dirname "$0")/install.sh" Postgres \
	apt-get=postgresql \
	dnf=postgresql-server \
	yum=postgresql-server \
	apk=postgresql \
	pacman=postgresql \
	zypper=postgresql-server \
	brew=postgresql@17 || {
	echo 'Or set DATABASE_URL to a server that is running.' >&2
	exit 1
}

find_postgres && exit 0

cat >&2 <<'END'
The system's own Postgres is not of a version from 15 to 18. Install one from
https://www.postgresql.org/download/, or set DATABASE_URL to a server.
END
exit 1
