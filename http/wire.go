package http

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// responseWire is where the library writes a stream over an answer of net/http:
// every event gets a deadline, and the client that lets it pass is cut off. The
// library itself goes on writing whatever happens. Between two events there is no
// deadline: one that passes then ends a stream of HTTP/2.
type responseWire struct {
	http.ResponseWriter

	control *http.ResponseController
	stream  *stream
	cut     func()
}

// Write implements io.Writer.
func (w *responseWire) Write(data []byte) (int, error) {
	w.hurry() // more than the buffer takes is written now
	n, err := w.ResponseWriter.Write(data)
	if err != nil {
		w.cut()
	}
	return n, err
}

// Flush implements http.Flusher, which the library calls after its header and
// after every event.
func (w *responseWire) Flush() {
	w.hurry()
	if err := w.control.Flush(); err != nil {
		w.cut()
		return
	}
	_ = w.control.SetWriteDeadline(time.Time{})
	w.stream.arrived()
}

// hurry sets the deadline of what is written next.
func (w *responseWire) hurry() {
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // where there are no deadlines, as in tests, there are no stalls
}

// connectionWire writes a stream to a connection that was taken over, in chunks
// (RFC 9112, 7.1). What belongs together goes out by one system call.
type connectionWire struct {
	client *takenOver
	stream *stream
	cut    func()

	header http.Header
	chunk  *[]byte // from chunks; nil between two events
	ended  bool
	failed error
}

// chunks are reused, as a stream needs one only while it has something to say.
var chunks = sync.Pool{New: func() any { return new([]byte) }}

// lastChunk says that there is no more.
const lastChunk = "0\r\n\r\n"

// chunkHead is the room for a chunk's length, in hexadecimal digits, and CRLF.
const chunkHead = len("ffffffff\r\n")

// Header implements http.ResponseWriter.
func (w *connectionWire) Header() http.Header {
	if w.header == nil {
		w.header = w.client.header
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *connectionWire) WriteHeader(status int) {
	buffer := w.buffer()
	*buffer = append(*buffer, "HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\n"...)
	_ = w.header.Write(w) // which lets no value end its line
	*buffer = append(*buffer, "Date: "+time.Now().UTC().Format(http.TimeFormat)+"\r\nTransfer-Encoding: chunked\r\n\r\n"...)
	w.send((*buffer)[chunkHead:])
	w.header, w.client.header = nil, nil // not needed for as long as the client waits
}

// Write implements io.Writer.
func (w *connectionWire) Write(data []byte) (int, error) {
	buffer := w.buffer()
	*buffer = append(*buffer, data...)
	return len(data), w.failed
}

// Flush implements http.Flusher.
func (w *connectionWire) Flush() {
	if w.chunk != nil {
		buffer := *w.chunk
		size := len(buffer) - chunkHead
		head := strconv.FormatInt(int64(size), 16) + "\r\n"
		from := chunkHead - len(head)
		copy(buffer[from:], head)
		buffer = append(buffer, "\r\n"...)
		if w.stream.isOver() { // the end by a call of its own would double the cost of a result
			buffer = append(buffer, lastChunk...)
			w.ended = true
		}
		*w.chunk = buffer
		w.send(buffer[from:])
	}
	if w.failed == nil {
		w.stream.arrived()
	}
}

// end says that there is no more, unless that is said.
func (w *connectionWire) end() error {
	if !w.ended {
		*w.buffer() = append(*w.buffer(), lastChunk...)
		w.send((*w.chunk)[chunkHead:])
	}
	return w.failed
}

// buffer is what is collected for the next call of send, after room for its head.
func (w *connectionWire) buffer() *[]byte {
	if w.chunk == nil {
		w.chunk = chunks.Get().(*[]byte)
		*w.chunk = append((*w.chunk)[:0], make([]byte, chunkHead)...)
	}
	return w.chunk
}

// send writes within the time that a client has, or cuts it off.
func (w *connectionWire) send(data []byte) {
	if w.failed == nil {
		_ = w.client.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // else writing fails as well
		_, w.failed = w.client.Write(data)
		if w.failed != nil {
			w.cut()
		}
	}
	chunks.Put(w.chunk)
	w.chunk = nil
}
