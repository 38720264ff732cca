#!/bin/sh
# Succeeds if go can build with the race detector, which needs a C compiler and a
# platform that it knows; installs a compiler if that is what is missing. Says so
# and fails where there is none in the end.
set -eu

builds() { CGO_ENABLED=1 go build -race runtime/cgo >/dev/null 2>&1; }

builds && exit 0

"$(dirname "$0")/install.sh" 'a C compiler' \
	'apt-get=gcc libc6-dev' \
	'dnf=gcc glibc-devel' \
	'yum=gcc glibc-devel' \
	'apk=gcc musl-dev' \
	pacman=gcc \
	'zypper=gcc glibc-devel' || true

if ! builds; then
	echo 'The race detector cannot be built here: the tests run without it.' >&2
	exit 1
fi
