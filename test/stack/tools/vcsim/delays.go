package main

import (
	"maps"
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// delays changes method delays while calls are running. The simulator reads its maps without a lock, so a changed map
// is always a new one: replacing the reference is one word, changing the map in place would end the process.
type delays struct {
	mu      sync.Mutex
	model   *simulator.Model
	initial map[string]int
	current map[string]int
}

func newDelays(model *simulator.Model, initial map[string]int) *delays {
	d := &delays{model: model, initial: initial}
	d.reset()
	return d
}

func (d *delays) reset() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set(maps.Clone(d.initial))
}

// merge adds to the delays in force; a negative number removes an entry (0 stays: 'LockHandoff:0' means something).
func (d *delays) merge(changes map[string]int) map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(d.current)
	for method, ms := range changes {
		if ms < 0 {
			delete(next, method)
			continue
		}
		next[method] = ms
	}
	return d.set(next)
}

// set serves both places the simulator looks in: the model's for calls, the global one for tasks.
func (d *delays) set(next map[string]int) map[string]int {
	d.current = next
	d.model.DelayConfig.MethodDelay = next
	simulator.TaskDelay.MethodDelay = next
	return next
}
