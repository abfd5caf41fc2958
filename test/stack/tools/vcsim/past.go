package main

import (
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// past is what happened, in order: power changes and tasks that are over.
type past struct {
	mu     sync.Mutex
	next   int
	powers []powerEvent
	tasks  []taskEvent
}

type powerEvent struct {
	Sequence int       `json:"sequence"`
	At       time.Time `json:"at"`
	Vm       string    `json:"vm"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
}

type taskEvent struct {
	Sequence int       `json:"sequence"`
	At       time.Time `json:"at"`
	Task     string    `json:"task"`
	Method   string    `json:"method"`
	Object   string    `json:"object"`
	Name     string    `json:"name,omitempty"`
	State    string    `json:"state"`
	Fault    string    `json:"fault,omitempty"`
}

func (p *past) power(vm types.ManagedObjectReference, name string, state types.VirtualMachinePowerState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	p.powers = append(p.powers, powerEvent{p.next, time.Now(), vm.Value, name, string(state)})
}

func (p *past) task(task *mo.Task, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	event := taskEvent{
		Sequence: p.next, At: time.Now(), Task: task.Self.Value, Method: task.Info.Name,
		Object: task.Info.Entity.Value, Name: name, State: string(task.Info.State),
	}
	if task.Info.Error != nil {
		event.Fault = reflect.TypeOf(task.Info.Error.Fault).Elem().Name()
	}
	p.tasks = append(p.tasks, event)
}

func (p *past) listPower() []powerEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]powerEvent{}, p.powers...)
}

func (p *past) listTasks() []taskEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]taskEvent{}, p.tasks...)
}

func (p *past) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.powers, p.tasks = nil, nil
}
