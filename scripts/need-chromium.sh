#!/bin/sh
# Makes sure that there is a browser for the browser tests, as far as possible:
# where there is none in the end, it says so and the tests are skipped.
set -eu

# The names that the tests' library looks for.
browsers='
headless_shell
headless-shell
chromium
chromium-browser
google-chrome
google-chrome-stable
google-chrome-beta
google-chrome-unstable
/usr/bin/google-chrome
/Applications/Google Chrome.app/Contents/MacOS/Google Chrome
/Applications/Chromium.app/Contents/MacOS/Chromium
'

# find_browser succeeds if a browser runs: some systems have a command of that
# name which only says how to install one.
find_browser() (
	IFS='
'
	for browser in $browsers; do
		if "$browser" --version >/dev/null 2>&1; then exit 0; fi
	done
	exit 1
)

find_browser && exit 0

"$(dirname "$0")/install.sh" Chromium \
	apt-get=chromium \
	dnf=chromium \
	yum=chromium \
	apk=chromium \
	pacman=chromium \
	zypper=chromium || true

find_browser || echo 'No Chromium: the browser tests will be skipped.' >&2
