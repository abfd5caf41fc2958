package main

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// controlAgent marks the requests that the control API itself sends over HTTP; they are not recorded.
const controlAgent = "vcsim-control"

// watch sees every call from outside before the simulator does: it records, delays and fails them. It also sees every
// object and task that comes to be.
type watch struct {
	mo.OverheadMemoryManager // only a place in the registry, for the object callbacks

	registry *simulator.Registry
	faults   faults

	mu       sync.Mutex
	names    map[types.ManagedObjectReference]string
	sessions map[string]*simulator.Session
	counts   map[string]int
	mutating []call
}

// call is a recorded call that could change something.
type call struct {
	Method     string    `json:"method"`
	ObjectType string    `json:"objectType"`
	Object     string    `json:"object"`
	Name       string    `json:"name,omitempty"`
	At         time.Time `json:"at"`
}

func newWatch(model *simulator.Model) *watch {
	w := &watch{
		registry: model.Map(),
		names:    map[types.ManagedObjectReference]string{},
		sessions: map[string]*simulator.Session{},
		counts:   map[string]int{},
	}
	w.Self = types.ManagedObjectReference{Type: "OverheadMemoryManager", Value: "vcsim-watch"}
	for _, entity := range w.registry.All("") {
		w.names[entity.Reference()] = entity.Entity().Name
	}
	w.registry.Put(w)
	w.registry.AddHandler(w)
	w.registry.Handler = w.handle
	return w
}

// Lock and Unlock opt out of the simulator's own locking.
func (w *watch) Lock()   {}
func (w *watch) Unlock() {}

// handle is called before the simulator looks for the object and before it checks the session.
func (w *watch) handle(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if simulator.ServiceFromContext(ctx) == nil {
		return nil, nil // a call from inside the process
	}
	name := w.record(ctx, method)
	if ctx.Session == nil && !openToAll[method.Name] {
		return nil, nil // the simulator answers NotAuthenticated
	}
	r := w.faults.take(method.Name, false, method.This, name)
	if r == nil {
		return nil, nil
	}
	r.sleep()
	if r.Fault == "" {
		return nil, nil
	}
	fault, err := newFault(r, method.This)
	if err != nil {
		return nil, nil // checked when the rule was added
	}
	return nil, fault
}

// openToAll are the calls that need no session.
var openToAll = map[string]bool{
	"Login": true, "LoginByToken": true, "RetrieveServiceContent": true, "RetrieveProperties": true, "RetrievePropertiesEx": true,
}

func (w *watch) record(ctx *simulator.Context, method *simulator.Method) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Session != nil {
		w.sessions[ctx.Session.Key] = ctx.Session
	}
	name := w.names[method.This]
	w.counts[method.Name]++
	if !isReadOnly(method.Name) {
		w.mutating = append(w.mutating, call{method.Name, method.This.Type, method.This.Value, name, time.Now()})
	}
	return name
}

// wrap records what goes past the SOAP endpoint: tags are attached over REST.
func (w *watch) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		if method, object, ok := restChange(req); ok && req.UserAgent() != controlAgent {
			w.mu.Lock()
			w.counts[method]++
			w.mutating = append(w.mutating, call{method, "", object, "", time.Now()})
			w.mu.Unlock()
		}
		next.ServeHTTP(res, req)
	})
}

// restChange names a REST request that changes something, e.g. "REST tag-association attach".
func restChange(req *http.Request) (method, object string, ok bool) {
	path, found := strings.CutPrefix(req.URL.Path, "/rest/com/vmware/cis/")
	if !found || req.Method == http.MethodGet || strings.HasPrefix(path, "session") {
		return "", "", false
	}
	action := req.URL.Query().Get("~action")
	if strings.HasPrefix(action, "list-") {
		return "", "", false
	}
	if action == "" {
		action = req.Method
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(path, "tagging/"), "/")
	return "REST " + kind + " " + action, id, true
}

var readOnlyPrefixes = []string{
	"Retrieve", "ContinueRetrieve", "CreateFilter", "CreatePropertyCollector", "CreateContainerView", "CreateListView", "CreateImportSpec",
	"DestroyProperty", "DestroyView", "WaitFor", "CancelWaitFor", "CancelRetrieve", "CheckForUpdates", "Find", "Query", "Fetch", "Validate",
	"Parse", "Login", "Logout", "CurrentTime", "SessionIsActive", "HttpNfcLeaseGetManifest", "HttpNfcLeaseProgress",
}

func isReadOnly(method string) bool {
	for _, prefix := range readOnlyPrefixes {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

func (w *watch) calls() (map[string]int, []call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := make(map[string]int, len(w.counts))
	for method, n := range w.counts {
		counts[method] = n
	}
	return counts, append([]call{}, w.mutating...)
}

func (w *watch) resetCalls() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.mutating = map[string]int{}, nil
}

// knownSessions are all sessions that ever made a call; a terminated one keeps its leases.
func (w *watch) knownSessions() []*simulator.Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*simulator.Session, 0, len(w.sessions))
	for _, session := range w.sessions {
		out = append(out, session)
	}
	return out
}

// PutObject remembers names and lets the tasks of a matching rule end in error.
func (w *watch) PutObject(_ *simulator.Context, item mo.Reference) {
	if entity, ok := item.(mo.Entity); ok {
		w.setName(item.Reference(), entity.Entity().Name)
		return
	}
	if task, ok := item.(*simulator.Task); ok && task.Info.Entity != nil {
		w.arm(task)
	}
}

func (w *watch) arm(task *simulator.Task) {
	entity := *task.Info.Entity
	r := w.faults.take(task.Info.Name, true, entity, w.name(entity))
	if r == nil {
		return
	}
	task.Execute = func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		r.sleep()
		fault, err := newFault(r, entity)
		if err != nil {
			fault = &types.SystemErrorFault{Reason: err.Error()}
		}
		return nil, fault
	}
}

func (w *watch) UpdateObject(_ *simulator.Context, item mo.Reference, changes []types.PropertyChange) {
	for _, change := range changes {
		if name, ok := change.Val.(string); ok && change.Name == "name" {
			w.setName(item.Reference(), name)
		}
	}
}

func (w *watch) RemoveObject(_ *simulator.Context, item types.ManagedObjectReference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.names, item)
}

func (w *watch) setName(ref types.ManagedObjectReference, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[ref] = name
}

func (w *watch) name(ref types.ManagedObjectReference) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[ref]
}
