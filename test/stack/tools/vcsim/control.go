package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// control is the API that tests use to disturb the simulator and to look behind it: plain HTTP and JSON on loopback.
type control struct {
	model  *simulator.Model
	server *simulator.Server
	watch  *watch
	nfc    *nfc
	delays *delays
}

func startControl(c *control) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the control API: %w", err)
	}
	go func() { log.Println(http.Serve(listener, c.routes())) }()
	return "http://" + listener.Addr().String(), nil
}

func (c *control) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /delays", handle(func(_ context.Context, body map[string]int) (any, error) { return c.delays.merge(body), nil }))
	mux.HandleFunc("DELETE /delays", handle(func(context.Context, struct{}) (any, error) { return c.delays.reset(), nil }))

	mux.HandleFunc("POST /faults", handle(func(_ context.Context, body rule) (any, error) {
		id, err := c.watch.faults.add(body)
		return map[string]int{"id": id}, err
	}))
	mux.HandleFunc("GET /faults", handle(func(context.Context, struct{}) (any, error) { return c.watch.faults.list(), nil }))
	mux.HandleFunc("DELETE /faults", handle(func(context.Context, struct{}) (any, error) {
		c.watch.faults.clear()
		c.watch.freezer.thaw()
		return ok, nil
	}))

	mux.HandleFunc("GET /sessions", handle(func(ctx context.Context, _ struct{}) (any, error) { return c.sessions(ctx) }))
	mux.HandleFunc("POST /sessions/terminate", handle(func(ctx context.Context, body struct {
		Key string `json:"key"`
	}) (any, error) {
		n, err := c.terminate(ctx, body.Key)
		return count{n}, err
	}))

	mux.HandleFunc("GET /lease", handle(func(context.Context, struct{}) (any, error) { return c.leases(), nil }))
	mux.HandleFunc("POST /lease/abort", handle(func(_ context.Context, body leaseBody) (any, error) { return count{c.abortLeases(body.Lease)}, nil }))
	mux.HandleFunc("POST /lease/error", handle(func(_ context.Context, body leaseBody) (any, error) {
		n, err := c.failLeases(body.Lease, orElse(body.Fault, "Timedout"))
		return count{n}, err
	}))

	mux.HandleFunc("GET /calls", handle(func(context.Context, struct{}) (any, error) {
		counts, mutating := c.watch.calls()
		return map[string]any{"counts": counts, "mutating": mutating}, nil
	}))
	mux.HandleFunc("DELETE /calls", handle(func(context.Context, struct{}) (any, error) { c.watch.resetCalls(); return ok, nil }))
	mux.HandleFunc("GET /nfc", handle(func(context.Context, struct{}) (any, error) { return c.nfc.list(), nil }))
	mux.HandleFunc("DELETE /nfc", handle(func(context.Context, struct{}) (any, error) { c.nfc.clear(); return ok, nil }))

	mux.HandleFunc("GET /vms", handle(func(ctx context.Context, _ struct{}) (any, error) { return c.listVMs(ctx) }))
	mux.HandleFunc("POST /vms", handle(func(ctx context.Context, body newVM) (any, error) {
		ref, err := c.createVM(ctx, body)
		return reference{ref.Value}, err
	}))
	mux.HandleFunc("POST /vms/change", handle(func(ctx context.Context, body vmChange) (any, error) {
		ref, err := c.changeVM(ctx, body)
		return reference{ref}, err
	}))
	mux.HandleFunc("POST /vms/settings", handle(func(ctx context.Context, body settings) (any, error) { return ok, c.change(ctx, body) }))
	mux.HandleFunc("POST /vms/guest", handle(func(ctx context.Context, body guestBody) (any, error) { return ok, c.guest(ctx, body) }))
	mux.HandleFunc("POST /vms/nics", handle(func(ctx context.Context, body struct {
		Ref string
		newNic
	}) (any, error) {
		return ok, c.addNic(ctx, body.Ref, body.newNic)
	}))
	mux.HandleFunc("DELETE /vms/nics", handle(func(ctx context.Context, body struct{ Ref, Mac string }) (any, error) {
		return ok, c.removeNic(ctx, body.Ref, body.Mac)
	}))
	c.diskRoutes(mux)
	mux.HandleFunc("GET /power", handle(func(context.Context, struct{}) (any, error) { return c.watch.past.listPower(), nil }))
	mux.HandleFunc("GET /tasks", handle(func(context.Context, struct{}) (any, error) { return c.watch.past.listTasks(), nil }))
	mux.HandleFunc("DELETE /past", handle(func(context.Context, struct{}) (any, error) { c.watch.past.clear(); return ok, nil }))
	mux.HandleFunc("POST /folders", handle(func(ctx context.Context, body struct{ Parent, Name string }) (any, error) {
		ref, err := c.createFolder(ctx, body.Parent, body.Name)
		return reference{ref}, err
	}))
	mux.HandleFunc("POST /find", handle(func(ctx context.Context, body struct{ Path string }) (any, error) {
		ref, err := c.resolve(ctx, body.Path)
		return map[string]string{"type": ref.Type, "ref": ref.Value}, err
	}))
	mux.HandleFunc("POST /maintenance", handle(func(ctx context.Context, body struct {
		Host string
		On   bool
	}) (any, error) {
		n, err := c.maintenance(ctx, body.Host, body.On)
		return count{n}, err
	}))
	mux.HandleFunc("POST /options", handle(func(ctx context.Context, body map[string]string) (any, error) { return ok, c.setOptions(ctx, body) }))

	mux.HandleFunc("POST /tags", handle(func(ctx context.Context, body struct{ Category, Name string }) (any, error) {
		urn, err := c.ensureTag(ctx, body.Category, body.Name)
		return map[string]string{"urn": urn}, err
	}))
	mux.HandleFunc("POST /tags/attach", handle(func(ctx context.Context, body struct{ Urn, Ref string }) (any, error) {
		return ok, c.attachTag(ctx, body.Urn, body.Ref)
	}))
	mux.HandleFunc("POST /tags/attached", handle(func(ctx context.Context, body struct{ Ref string }) (any, error) {
		return c.attachedTags(ctx, body.Ref)
	}))
	return mux
}

func (c *control) diskRoutes(mux *http.ServeMux) {
	type disk struct {
		Vm   string
		Disk int
	}
	mux.HandleFunc("POST /disks", handle(func(ctx context.Context, body struct {
		Vm string
		newDisk
	}) (any, error) {
		index, err := c.addDisk(ctx, body.Vm, body.newDisk)
		return map[string]int{"index": index}, err
	}))
	mux.HandleFunc("DELETE /disks", handle(func(ctx context.Context, body disk) (any, error) { return ok, c.removeDisk(ctx, body.Vm, body.Disk) }))
	mux.HandleFunc("POST /disks/grow", handle(func(ctx context.Context, body struct {
		disk
		Size int64
	}) (any, error) {
		return ok, c.growDisk(ctx, body.Vm, body.Disk, body.Size)
	}))
	mux.HandleFunc("POST /disks/fill", handle(func(_ context.Context, body fillBody) (any, error) {
		n, err := c.fill(body)
		return map[string]int64{"written": n}, err
	}))
	mux.HandleFunc("POST /disks/digest", handle(func(_ context.Context, body disk) (any, error) { return c.digest(body.Vm, body.Disk) }))
	mux.HandleFunc("PUT /disks/{vm}/{index}", c.serveDisk)
	mux.HandleFunc("POST /tracking/files", handle(func(_ context.Context, body struct {
		Vm    string
		There bool
	}) (any, error) {
		return ok, c.trackingFiles(body.Vm, body.There)
	}))
	mux.HandleFunc("POST /tracking/reset", handle(func(_ context.Context, body struct{ Vm string }) (any, error) {
		return ok, c.resetTracking(body.Vm)
	}))
	mux.HandleFunc("POST /tracking/answers", handle(func(_ context.Context, body struct{ Bytes int64 }) (any, error) {
		c.watch.tracking.limit(body.Bytes)
		return ok, nil
	}))
}

type count struct {
	Count int `json:"count"`
}

type reference struct {
	Ref string `json:"ref"`
}

type leaseBody struct {
	Lease string `json:"lease"`
	Fault string `json:"fault"`
}

var ok = struct{}{}

// handle decodes the body strictly, so that a misspelt field is an error and not a test that tests nothing. A panic in the
// simulator becomes an error too.
func handle[B any](f func(context.Context, B) (any, error)) http.HandlerFunc {
	return func(res http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				answer(res, http.StatusInternalServerError, map[string]string{"error": fmt.Sprint(p)})
			}
		}()
		var body B
		raw, err := io.ReadAll(io.LimitReader(req.Body, 16<<20))
		if err == nil && len(strings.TrimSpace(string(raw))) > 0 {
			decoder := json.NewDecoder(strings.NewReader(string(raw)))
			decoder.DisallowUnknownFields()
			err = decoder.Decode(&body)
		}
		if err != nil {
			answer(res, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		result, err := f(ctx, body)
		if err != nil {
			answer(res, http.StatusUnprocessableEntity, map[string]string{"error": describe(err)})
			return
		}
		answer(res, http.StatusOK, result)
	}
}

// describe names the fault behind an error: the simulator gives most of them no text.
func describe(err error) string {
	if soap.IsSoapFault(err) {
		return fmt.Sprintf("%T %s", soap.ToSoapFault(err).VimFault(), err)
	}
	return err.Error()
}

func answer(res http.ResponseWriter, status int, value any) {
	res.Header().Set("Content-Type", "application/json")
	res.WriteHeader(status)
	_ = json.NewEncoder(res).Encode(value)
}

// setOptions changes settings of the vCenter, e.g. config.vmacore.soap.sessionTimeout or vcsim.server.url.
func (c *control) setOptions(ctx context.Context, values map[string]string) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	changes := make([]types.BaseOptionValue, 0, len(values))
	for key, value := range values {
		changes = append(changes, &types.OptionValue{Key: key, Value: value})
	}
	return object.NewOptionManager(client, *client.ServiceContent.Setting).Update(ctx, changes)
}
