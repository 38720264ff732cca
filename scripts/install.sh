#!/bin/sh
# Installs a package by the system's package manager, without asking questions.
#
#   install.sh WHAT MANAGER=PACKAGES...
#
# WHAT is what a person calls it; the other arguments name the packages for each
# package manager, such as apt-get=postgresql. Where root's rights are needed and
# would cost a password, or the package manager is none of these, it prints what
# to do and exits with 1.
set -eu

what=$1
shift

# packages_for MANAGER ARGUMENTS... prints the packages given for the manager.
packages_for() {
	wanted=$1
	shift
	for argument in "$@"; do
		case $argument in "$wanted="*) printf '%s' "${argument#*=}" ;; esac
	done
}

manager=''
packages=''
for candidate in apt-get dnf yum apk pacman zypper brew; do
	if command -v "$candidate" >/dev/null 2>&1; then
		packages=$(packages_for "$candidate" "$@")
		if [ -n "$packages" ]; then
			manager=$candidate
			break
		fi
	fi
done

refresh=''
case $manager in
apt-get)
	# The lock: another installation may be running.
	apt='apt-get -o DPkg::Lock::Timeout=300'
	refresh="$apt update"
	install="env DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends $packages"
	typed="sudo apt-get update && sudo apt-get install $packages"
	;;
dnf | yum)
	install="$manager install -y $packages"
	typed="sudo $install"
	;;
apk)
	install="apk add --no-cache $packages"
	typed="sudo $install"
	;;
pacman)
	install="pacman -S --noconfirm --needed $packages"
	typed="sudo pacman -S $packages"
	;;
zypper)
	install="zypper --non-interactive install $packages"
	typed="sudo $install"
	;;
brew)
	install="env HOMEBREW_NO_INSTALL_CLEANUP=1 brew install $packages"
	typed="brew install $packages"
	;;
*)
	echo "$what is missing, and this system has none of the known package managers: install it by hand" >&2
	exit 1
	;;
esac

if [ "$manager" = brew ] || [ "$(id -u)" -eq 0 ]; then
	as_root=''
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root='sudo -n'
else
	printf '%s is missing. Install it with:\n\n    %s\n\n' "$what" "$typed" >&2
	exit 1
fi

# The commands are words to be split: a package name holds no spaces.
# shellcheck disable=SC2086
run() { $as_root "$@" </dev/null >"$log" 2>&1; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing $what ($packages)" >&2
# What the package manager knows of may be old or nothing at all: a failure is
# final only after a refresh.
# shellcheck disable=SC2086
if run $install || { [ -n "$refresh" ] && run $refresh && run $install; }; then
	exit 0
fi
cat "$log" >&2
printf '%s could not be installed. Install it with:\n\n    %s\n\n' "$what" "$typed" >&2
exit 1
