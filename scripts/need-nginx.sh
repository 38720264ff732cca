#!/bin/sh
# Makes sure that there is nginx for the tests behind a proxy, as far as possible:
# where there is none in the end, it says so and the tests are skipped. It is not
# started: the tests start their own.
set -eu

# Systems keep it out of an ordinary user's PATH.
PATH=$PATH:/usr/sbin:/usr/local/sbin

command -v nginx >/dev/null 2>&1 && exit 0

# The package would start a server on port 80.
[ "$(id -u)" -ne 0 ] || [ -e /usr/sbin/policy-rc.d ] || [ ! -d /etc/apt ] || {
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

"$(dirname "$0")/install.sh" nginx \
	apt-get=nginx-light \
	dnf=nginx \
	yum=nginx \
	apk=nginx \
	pacman=nginx \
	zypper=nginx \
	brew=nginx || true

command -v nginx >/dev/null 2>&1 || echo 'No nginx: the tests behind a proxy will be skipped.' >&2
