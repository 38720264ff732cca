package browser_test

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chromiumNames are the names and places that Chromium and Chrome have.
var chromiumNames = []string{
	"headless_shell",
	"headless-shell",
	"chromium",
	"chromium-browser",
	"google-chrome",
	"google-chrome-stable",
	"google-chrome-beta",
	"google-chrome-unstable",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
}

// chromiumPath is the first of them that runs, "" if none does: some systems have
// a command of that name which only says how to install one.
var chromiumPath = sync.OnceValue(func() string {
	for _, name := range chromiumNames {
		if exec.Command(name, "--version").Run() == nil {
			return name
		}
	}
	return ""
})

// needChromium skips the test where there is no Chromium.
func needChromium(t *testing.T) {
	t.Helper()
	if chromiumPath() == "" {
		t.Skip("no Chromium: install one, by the package chromium on most systems, or Google Chrome")
	}
}

// chromium is a browser of the test's own. Nothing outside this machine can be
// reached from it.
type chromium struct{ ctx context.Context }

// startChromium starts a browser that prefers a language and is ended with the
// test.
func startChromium(t *testing.T, language string) *chromium {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromiumPath()),
		chromedp.DisableGPU,
		chromedp.Flag("accept-lang", language),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("lang", language),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	// The test's context ends before its cleanups, and with it the browser would.
	allocator, free := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(free)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	begin(t, ctx, end)
	return &chromium{ctx: ctx}
}

// begin starts the browser or the tab of a context. It lives as long as that
// context, which can have no deadline for this reason.
func begin(t *testing.T, ctx context.Context, end context.CancelFunc) {
	t.Helper()
	late := time.AfterFunc(startWithin, end)
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s, or a tab in it, within %s: %v", chromiumPath(), startWithin, err)
	}
}
