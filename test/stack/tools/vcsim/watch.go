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
	service  *simulator.Service
	faults   faults
	tracking *tracking
	guard    *guard
	freezer  *freezer
	past     past

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
		service:  model.Service,
		tracking: newTracking(),
		guard:    newGuard(),
		freezer:  newFreezer(),
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
		return w.admit(method, nil) // a call from inside the process
	}
	name := w.record(ctx, method)
	if ctx.Session == nil && !openToAll[method.Name] {
		return nil, nil // the simulator answers NotAuthenticated
	}
	r := w.faults.take(method.Name, false, w.objectsOf(method, name))
	if r == nil {
		return w.admit(method, nil)
	}
	r.sleep()
	if r.Fault == "" {
		return w.admit(method, r)
	}
	fault, err := newFault(r, method.This)
	if err != nil {
		return nil, nil // checked when the rule was added
	}
	return nil, fault
}

// admit keeps snapshot tasks apart and takes over the calls that the simulator can't answer, or is not to.
func (w *watch) admit(method *simulator.Method, r *rule) (mo.Reference, types.BaseMethodFault) {
	if vm, ok := w.vmOf(method.This); ok && snapshotCalls[method.Name] {
		if fault := w.guard.enter(vm); fault != nil {
			return nil, fault
		}
	}
	if method.Name != "QueryChangedDiskAreas" && (r == nil || (!r.Freeze && !r.Swallow)) {
		return nil, nil
	}
	// Else the simulator would look for the VM in the session.
	method.This = w.Self
	return w, nil
}

// objectsOf are the objects that a call is about: for a read of properties also those that it names.
func (w *watch) objectsOf(method *simulator.Method, name string) []named {
	objects := []named{{method.This.Type, name}}
	if read, ok := method.Body.(*types.RetrievePropertiesEx); ok {
		for _, spec := range read.SpecSet {
			for _, object := range spec.ObjectSet {
				objects = append(objects, named{object.Obj.Type, w.name(object.Obj)})
			}
		}
	}
	return objects
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

// PutObject remembers names, lets the tasks of a matching rule end in error and gives snapshots their change ids.
func (w *watch) PutObject(_ *simulator.Context, item mo.Reference) {
	switch object := item.(type) {
	case *simulator.Task:
		if object.Info.Entity != nil {
			w.guard.began(object)
			w.arm(object)
		}
	case *simulator.VirtualMachineSnapshot:
		if vm, ok := w.registry.Get(object.Vm).(*simulator.VirtualMachine); ok {
			w.tracking.bump(&vm.VirtualMachine, &object.Config)
		}
	case mo.Entity:
		w.setName(item.Reference(), object.Entity().Name)
	}
}

func (w *watch) arm(task *simulator.Task) {
	entity := *task.Info.Entity
	r := w.faults.take(task.Info.Name, true, []named{{entity.Type, w.name(entity)}})
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
		switch object := item.(type) {
		case *mo.VirtualMachine:
			w.vmChanged(object, change)
		case *mo.Task:
			w.taskChanged(object, change)
		}
	}
}

func (w *watch) vmChanged(vm *mo.VirtualMachine, change types.PropertyChange) {
	switch {
	case change.Name == "runtime.powerState":
		w.past.power(vm.Self, w.name(vm.Self), vm.Runtime.PowerState)
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
			w.tracking.bump(vm, nil)
		}
	case change.Name == "config.changeVersion" || strings.HasPrefix(change.Name, "config.hardware.device"):
		w.tracking.follow(vm)
	}
}

func (w *watch) taskChanged(task *mo.Task, change types.PropertyChange) {
	over := task.Info.State == types.TaskInfoStateSuccess || task.Info.State == types.TaskInfoStateError
	if change.Name != "info.state" || !over || task.Info.Entity == nil {
		return
	}
	w.guard.ended(task)
	w.past.task(task, w.name(*task.Info.Entity))
}

func (w *watch) RemoveObject(_ *simulator.Context, item types.ManagedObjectReference) {
	w.tracking.forget(item)
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
