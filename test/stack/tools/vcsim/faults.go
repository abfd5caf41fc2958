package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// rule makes matching calls slow, makes them fail, or both. It fires after Skip matches, Count times (0: always).
type rule struct {
	Method     string `json:"method"`
	ObjectType string `json:"objectType"`
	ObjectName string `json:"objectName"`
	// Fault is the name of any vim25 fault type; empty means the rule only delays.
	Fault  string          `json:"fault"`
	Fields json.RawMessage `json:"fields"`
	Skip   int             `json:"skip"`
	Count  int             `json:"count"`
	// DelayMs passes before the call is answered or carried out. No lock is held meanwhile.
	DelayMs int `json:"delayMs"`
	// AsTaskError lets the call succeed and its task end in error, without any effect on the inventory.
	AsTaskError bool `json:"asTaskError"`
	// Probability lets only some of the matching calls meet the rule; 0 means all.
	Probability float64 `json:"probability"`
	// Freeze lets the call begin a task that does nothing until it is thawed.
	Freeze bool `json:"freeze"`
	// Swallow lets ShutdownGuest succeed without effect: the guest does not listen.
	Swallow bool `json:"swallow"`

	Id      int `json:"id"`
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
}

type faults struct {
	mu    sync.Mutex
	rules []*rule
	next  int
}

func (f *faults) add(r rule) (int, error) {
	if r.Method == "" {
		return 0, fmt.Errorf("a rule needs a method, e.g. Rename_Task")
	}
	if r.Fault == "" && r.DelayMs == 0 && !r.Freeze && !r.Swallow {
		return 0, fmt.Errorf("a rule needs a fault, a delayMs, freeze or swallow")
	}
	if r.Freeze && !freezable[r.Method] {
		return 0, fmt.Errorf("tasks of %s can't be frozen", r.Method)
	}
	if r.Swallow && r.Method != "ShutdownGuest" {
		return 0, fmt.Errorf("only ShutdownGuest can be swallowed")
	}
	if r.Probability < 0 || r.Probability > 1 {
		return 0, fmt.Errorf("a probability lies between 0 and 1")
	}
	if r.AsTaskError && r.Fault == "" {
		return 0, fmt.Errorf("a task can't end in error without a fault")
	}
	if r.Fault != "" {
		if _, err := newFault(&r, types.ManagedObjectReference{}); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	r.Id, r.Matched, r.Fired = f.next, 0, 0
	f.rules = append(f.rules, &r)
	return r.Id, nil
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

func (f *faults) list() []rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]rule, 0, len(f.rules))
	for _, r := range f.rules {
		out = append(out, *r)
	}
	return out
}

// named is an object that a call is about.
type named struct{ kind, name string }

// take returns the first rule that fires for this call (or task) and counts it.
func (f *faults) take(method string, task bool, objects []named) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.AsTaskError != task || !r.matchesMethod(method, task) || !slices.ContainsFunc(objects, r.matchesObject) {
			continue
		}
		r.Matched++
		if r.Matched <= r.Skip || (r.Count > 0 && r.Fired >= r.Count) {
			continue
		}
		if r.Probability > 0 && rand.Float64() >= r.Probability {
			continue
		}
		r.Fired++
		fired := *r
		return &fired
	}
	return nil
}

func (r *rule) matchesMethod(method string, task bool) bool {
	if r.Method == "*" {
		return true
	}
	if task {
		return taskKey(r.Method) == taskKey(method)
	}
	return r.Method == method
}

func (r *rule) matchesObject(object named) bool {
	return (r.ObjectType == "" || r.ObjectType == "*" || r.ObjectType == object.kind) &&
		(r.ObjectName == "" || r.ObjectName == "*" || r.ObjectName == object.name)
}

// taskKey brings a method and the name its task has in the simulator together: PowerOnVM_Task and PowerOn,
// CreateSnapshot_Task and CreateSnapshotEx, ReconfigVM_Task and ReconfigVm.
func taskKey(name string) string {
	key := strings.ToLower(strings.TrimSuffix(name, "_Task"))
	for _, suffix := range []string{"ex", "vm"} {
		key = strings.TrimSuffix(key, suffix)
	}
	return key
}

func (r *rule) sleep() {
	if r.DelayMs > 0 {
		time.Sleep(time.Duration(r.DelayMs) * time.Millisecond)
	}
}

var typeByName = types.TypeFunc()

// newFault builds the vim25 fault that the rule names, with the fields that clients look at filled in.
func newFault(r *rule, object types.ManagedObjectReference) (types.BaseMethodFault, error) {
	kind, ok := typeByName(r.Fault)
	if !ok || kind.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%q is no vim25 fault", r.Fault)
	}
	fault, ok := reflect.New(kind).Interface().(types.BaseMethodFault)
	if !ok {
		return nil, fmt.Errorf("%q is a vim25 type but no fault", r.Fault)
	}
	switch f := fault.(type) {
	case *types.NotAuthenticated:
		f.Object, f.PrivilegeId = &object, "System.View"
	case *types.NoPermission:
		f.Object, f.PrivilegeId = &object, "System.Modify"
	case *types.ManagedObjectNotFound:
		f.Obj = object
	}
	if len(r.Fields) > 0 {
		if err := json.Unmarshal(r.Fields, fault); err != nil {
			return nil, fmt.Errorf("fields of %s: %w", r.Fault, err)
		}
	}
	return fault, nil
}
