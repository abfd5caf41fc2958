package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// transfer is one upload or download of one file of a lease.
type transfer struct {
	Method string `json:"method"`
	File   string `json:"file"`
	Lease  string `json:"lease"`
	Bytes  int64  `json:"bytes"`
	Done   bool   `json:"done"`
}

// nfc counts the bytes of files while they are moved; the simulator itself knows them only afterwards, and only of uploads.
type nfc struct {
	mu        sync.Mutex
	transfers []*transfer
}

func newNfc() *nfc { return &nfc{} }

func (n *nfc) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		path, ok := strings.CutPrefix(req.URL.Path, "/nfc/")
		if !ok {
			next.ServeHTTP(res, req)
			return
		}
		lease, file, _ := strings.Cut(path, "/")
		t := &transfer{Method: req.Method, File: file, Lease: lease}
		n.mu.Lock()
		n.transfers = append(n.transfers, t)
		n.mu.Unlock()
		if req.Method == http.MethodGet {
			next.ServeHTTP(&countingAnswer{res, n, t}, req)
			n.mu.Lock()
			t.Done = true
			n.mu.Unlock()
			return
		}
		req.Body = &countingBody{req.Body, n, t}
		next.ServeHTTP(res, req)
	})
}

func (n *nfc) list() []transfer {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]transfer, 0, len(n.transfers))
	for _, t := range n.transfers {
		out = append(out, *t)
	}
	return out
}

func (n *nfc) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.transfers = nil
}

type countingBody struct {
	io.ReadCloser
	n *nfc
	t *transfer
}

func (b *countingBody) Read(p []byte) (int, error) {
	count, err := b.ReadCloser.Read(p)
	b.n.mu.Lock()
	b.t.Bytes += int64(count)
	b.t.Done = b.t.Done || err == io.EOF
	b.n.mu.Unlock()
	return count, err
}

type countingAnswer struct {
	http.ResponseWriter
	n *nfc
	t *transfer
}

func (a *countingAnswer) Write(p []byte) (int, error) {
	count, err := a.ResponseWriter.Write(p)
	a.n.mu.Lock()
	a.t.Bytes += int64(count)
	a.n.mu.Unlock()
	return count, err
}
