// Package browser tests the pages as buyers see them: in a real Chromium, served
// by the program, on a real Postgres. Where there is no Chromium, the tests are
// skipped.
//
// The pictures of the README are taken anew, on a machine with good fonts for
// Latin and Chinese text (on Debian fonts-noto-core and fonts-noto-cjk), by
//
//	go test ./browser -run TestScreenshots -screenshots
package browser
