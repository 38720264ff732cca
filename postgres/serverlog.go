package postgres

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	maxLogSize       = 16 << 20
	logCheckInterval = time.Minute
)

// serverLog is the file that the server writes its messages to. The server has
// the file itself, not a pipe, so that it needs nobody to read from it.
type serverLog struct {
	file  *os.File
	start int64 // where the present server's messages begin
}

func openLog(path string) (*serverLog, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	log := &serverLog{file: file}
	return log, log.shorten()
}

// mark remembers that messages from here on belong to a new server.
func (l *serverLog) mark() error {
	size, err := l.file.Seek(0, io.SeekEnd)
	l.start = size
	return err
}

// sinceMark returns the last of the present server's messages.
func (l *serverLog) sinceMark() string {
	const enough = 4 << 10
	info, err := l.file.Stat()
	if err != nil {
		return ""
	}
	from := max(l.start, info.Size()-enough)
	text, err := io.ReadAll(io.NewSectionReader(l.file, from, enough))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// keepShort bounds the file's size until done is closed.
func (l *serverLog) keepShort(done <-chan struct{}, report func(error)) {
	ticker := time.NewTicker(logCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if err := l.shorten(); err != nil {
				report(err)
			}
		}
	}
}

// shorten moves the messages to a second file once there are many. The server
// goes on writing to the first, which therefore is emptied, not renamed; what it
// writes in between may be lost.
func (l *serverLog) shorten() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= maxLogSize {
		return nil
	}
	older, err := os.OpenFile(l.file.Name()+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer older.Close()
	if _, err := io.Copy(older, io.NewSectionReader(l.file, max(0, info.Size()-maxLogSize), maxLogSize)); err != nil {
		return fmt.Errorf("copy the server's log: %w", err)
	}
	return l.file.Truncate(0)
}
