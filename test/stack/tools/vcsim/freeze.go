package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// freezer holds tasks that are running and do nothing until they are thawed. Unlike the simulator's own they hold no lock, so
// that their VM can be read meanwhile.
type freezer struct {
	mu   sync.Mutex
	gate chan struct{}
}

func newFreezer() *freezer { return &freezer{gate: make(chan struct{})} }

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.gate)
	f.gate = make(chan struct{})
}

func (f *freezer) wait() {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	<-gate
}

// freezable are the calls whose tasks can be frozen.
var freezable = map[string]bool{
	"PowerOnVM_Task": true, "PowerOffVM_Task": true, "CreateSnapshot_Task": true, "RemoveSnapshot_Task": true,
}

// begin puts a running task into the inventory that carries the call out once it is thawed.
func (w *watch) begin(on types.ManagedObjectReference, name string, call func(context.Context, *vim25.Client) (types.ManagedObjectReference, error)) types.ManagedObjectReference {
	vm, _ := w.vmOf(on)
	frozen := simulator.CreateTask(vm, name, nil)
	frozen.Info.State = types.TaskInfoStateRunning
	w.registry.Put(frozen)
	own := &simulator.Context{Context: context.Background(), Map: w.registry}
	own.WithLock(frozen, func() { frozen.Info.Key, frozen.Info.Task = frozen.Self.Value, frozen.Self })
	go func() {
		w.freezer.wait()
		w.guard.leave(vm)
		result, err := w.carryOut(call)
		changes := []types.PropertyChange{{Name: "info.completeTime", Val: time.Now()}, {Name: "info.state", Val: types.TaskInfoStateSuccess}, {Name: "info.result", Val: result}}
		if err != nil {
			fault := types.LocalizedMethodFault{Fault: faultOf(err), LocalizedMessage: err.Error()}
			changes = []types.PropertyChange{{Name: "info.completeTime", Val: time.Now()}, {Name: "info.state", Val: types.TaskInfoStateError}, {Name: "info.error", Val: fault}}
		}
		own.WithLock(frozen, func() { own.Update(frozen, changes) })
	}()
	return frozen.Self
}

func (w *watch) carryOut(call func(context.Context, *vim25.Client) (types.ManagedObjectReference, error)) (types.AnyType, error) {
	ctx := context.Background()
	client, err := vim25.NewClient(ctx, w.service)
	if err != nil {
		return nil, err
	}
	ref, err := call(ctx, client)
	if err != nil {
		return nil, err
	}
	info, err := object.NewTask(client, ref).WaitForResult(ctx)
	if err != nil {
		return nil, err
	}
	return info.Result, nil
}

func faultOf(err error) types.BaseMethodFault {
	if failed, ok := err.(task.Error); ok {
		return failed.Fault()
	}
	if soap.IsSoapFault(err) {
		if fault, ok := soap.ToSoapFault(err).VimFault().(types.BaseMethodFault); ok {
			return fault
		}
	}
	return &types.SystemErrorFault{Reason: fmt.Sprint(err)}
}

func (w *watch) PowerOnVMTask(_ *simulator.Context, req *types.PowerOnVM_Task) soap.HasFault {
	ref := w.begin(req.This, "powerOn", func(ctx context.Context, client *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOnVM_Task(ctx, client, req)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: ref}}
}

func (w *watch) PowerOffVMTask(_ *simulator.Context, req *types.PowerOffVM_Task) soap.HasFault {
	ref := w.begin(req.This, "powerOff", func(ctx context.Context, client *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOffVM_Task(ctx, client, req)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: ref}}
}

func (w *watch) CreateSnapshotTask(_ *simulator.Context, req *types.CreateSnapshot_Task) soap.HasFault {
	ref := w.begin(req.This, "createSnapshot", func(ctx context.Context, client *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CreateSnapshot_Task(ctx, client, req)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	return &methods.CreateSnapshot_TaskBody{Res: &types.CreateSnapshot_TaskResponse{Returnval: ref}}
}

func (w *watch) RemoveSnapshotTask(_ *simulator.Context, req *types.RemoveSnapshot_Task) soap.HasFault {
	ref := w.begin(req.This, "removeSnapshot", func(ctx context.Context, client *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.RemoveSnapshot_Task(ctx, client, req)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	return &methods.RemoveSnapshot_TaskBody{Res: &types.RemoveSnapshot_TaskResponse{Returnval: ref}}
}

// ShutdownGuest is what a guest does that ignores the request.
func (w *watch) ShutdownGuest(*simulator.Context, *types.ShutdownGuest) soap.HasFault {
	return &methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}
}
