package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// guard lets one snapshot task run per VM, as vCenter does; two at once would end the process.
type guard struct {
	mu   sync.Mutex
	busy map[types.ManagedObjectReference]types.ManagedObjectReference // VM → task, empty until there is one
}

func newGuard() *guard {
	return &guard{busy: map[types.ManagedObjectReference]types.ManagedObjectReference{}}
}

// snapshotCalls are the calls that begin a snapshot task, snapshotTasks the names that the simulator gives these tasks.
var (
	snapshotCalls = map[string]bool{
		"CreateSnapshot_Task": true, "CreateSnapshotEx_Task": true, "RemoveSnapshot_Task": true, "RemoveAllSnapshots_Task": true,
		"RevertToSnapshot_Task": true, "RevertToCurrentSnapshot_Task": true,
	}
	snapshotTasks = map[string]bool{
		"CreateSnapshot": true, "CreateSnapshotEx": true, "RemoveSnapshot": true, "RemoveAllSnapshots": true,
		"RevertToSnapshot": true, "RevertToCurrentSnapshot": true,
	}
)

// vmOf is the VM that a call on this object is about, if there is one.
func (w *watch) vmOf(ref types.ManagedObjectReference) (types.ManagedObjectReference, bool) {
	switch object := w.registry.Get(ref).(type) {
	case *simulator.VirtualMachine:
		return object.Self, true
	case *simulator.VirtualMachineSnapshot:
		return object.Vm, true
	default:
		return types.ManagedObjectReference{}, false
	}
}

// enter reserves the VM for a snapshot task that is about to begin, or says which one is running.
func (g *guard) enter(vm types.ManagedObjectReference) types.BaseMethodFault {
	g.mu.Lock()
	defer g.mu.Unlock()
	if task, busy := g.busy[vm]; busy {
		return &types.TaskInProgress{Task: task}
	}
	g.busy[vm] = types.ManagedObjectReference{Type: "Task", Value: "task-0"}
	return nil
}

func (g *guard) began(task *simulator.Task) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, busy := g.busy[*task.Info.Entity]; busy && snapshotTasks[task.Info.Name] {
		g.busy[*task.Info.Entity] = task.Self
	}
}

// ended frees the VM again, unless another task has taken it over meanwhile.
func (g *guard) ended(task *mo.Task) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if task.Info.Entity != nil && g.busy[*task.Info.Entity] == task.Self {
		delete(g.busy, *task.Info.Entity)
	}
}

func (g *guard) leave(vm types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, vm)
}
