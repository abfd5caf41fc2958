package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// sector is what changed areas are rounded to.
const sector = 512

// tracking knows what the control API wrote to which disk, and answers QueryChangedDiskAreas from it. Writes that came in over
// HTTP are not seen.
type tracking struct {
	mu    sync.Mutex
	disks map[diskKey]*tracked
	// answerBytes limits what one answer covers; 0: the rest of the disk.
	answerBytes int64
}

type diskKey struct {
	vm  types.ManagedObjectReference
	key int32
}

// tracked is one disk. Without change tracking its id is empty and no changes are kept.
type tracked struct {
	id        string
	sequence  int
	changes   []change
	allocated []types.DiskChangeExtent
}

type change struct {
	sequence int
	extent   types.DiskChangeExtent
}

func newTracking() *tracking { return &tracking{disks: map[diskKey]*tracked{}} }

func (t *tracked) changeId() string {
	if t.id == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", t.id, t.sequence)
}

func flatDisks(devices []types.BaseVirtualDevice) map[int32]*types.VirtualDiskFlatVer2BackingInfo {
	found := map[int32]*types.VirtualDiskFlatVer2BackingInfo{}
	for _, device := range devices {
		if disk, ok := device.(*types.VirtualDisk); ok {
			if backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				found[disk.Key] = backing
			}
		}
	}
	return found
}

// follow brings the change ids of a VM in line with its configuration. The VM's lock is held.
func (t *tracking) follow(vm *mo.VirtualMachine) {
	if vm.Config == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	disks := flatDisks(vm.Config.Hardware.Device)
	for key := range t.disks {
		if _, there := disks[key.key]; key.vm == vm.Self && !there {
			delete(t.disks, key)
		}
	}
	on := vm.Config.ChangeTrackingEnabled != nil && *vm.Config.ChangeTrackingEnabled
	for key, backing := range disks {
		disk := t.disk(diskKey{vm.Self, key})
		switch {
		case on && disk.id == "":
			disk.id, disk.sequence, disk.changes = uuid.NewString(), 1, nil
		case !on:
			disk.id, disk.changes = "", nil
		}
		backing.ChangeId = disk.changeId()
	}
}

// bump begins a new sequence number on all disks of a VM; snapshot is the configuration of the snapshot that is the reason,
// if one is. The VM's lock is held.
func (t *tracking) bump(vm *mo.VirtualMachine, snapshot *types.VirtualMachineConfigInfo) {
	if vm.Config == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := map[int32]*types.VirtualDiskFlatVer2BackingInfo{}
	if snapshot != nil {
		kept = flatDisks(snapshot.Hardware.Device)
	}
	for key, backing := range flatDisks(vm.Config.Hardware.Device) {
		disk := t.disk(diskKey{vm.Self, key})
		if disk.id != "" {
			disk.sequence++
		}
		backing.ChangeId = disk.changeId()
		if then := kept[key]; then != nil {
			then.ChangeId = disk.changeId()
		}
	}
}

func (t *tracking) disk(key diskKey) *tracked {
	if t.disks[key] == nil {
		t.disks[key] = &tracked{}
	}
	return t.disks[key]
}

// wrote records a write of the control API.
func (t *tracking) wrote(key diskKey, start, length int64) {
	first, end := start/sector*sector, (start+length+sector-1)/sector*sector
	extent := types.DiskChangeExtent{Start: first, Length: end - first}
	t.mu.Lock()
	defer t.mu.Unlock()
	disk := t.disk(key)
	disk.allocated = append(disk.allocated, extent)
	if disk.id != "" {
		disk.changes = append(disk.changes, change{disk.sequence, extent})
	}
}

// reset gives all disks of a VM new ids, as switching change tracking off and on does.
func (t *tracking) reset(vm types.ManagedObjectReference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, disk := range t.disks {
		if key.vm == vm {
			disk.id = ""
		}
	}
}

// limit sets how many bytes one answer covers.
func (t *tracking) limit(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answerBytes = bytes
}

func (t *tracking) forget(vm types.ManagedObjectReference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.disks {
		if key.vm == vm {
			delete(t.disks, key)
		}
	}
}

// since are the extents changed from one change id up to, but not including, a sequence number; a bad id is a fault.
func (t *tracking) since(key diskKey, changeId string, until int, file string) ([]types.DiskChangeExtent, types.BaseMethodFault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	disk := t.disk(key)
	if changeId == "*" {
		return merged(disk.allocated), nil
	}
	id, text, ok := strings.Cut(changeId, "/")
	from, err := strconv.Atoi(text)
	if !ok || err != nil {
		return nil, &types.InvalidArgument{InvalidProperty: "changeId"}
	}
	if disk.id == "" || id != disk.id || from > disk.sequence {
		return nil, &types.FileFault{File: file}
	}
	found := []types.DiskChangeExtent{}
	for _, c := range disk.changes {
		if c.sequence >= from && c.sequence < until {
			found = append(found, c.extent)
		}
	}
	return merged(found), nil
}

// QueryChangedDiskAreas stands in for the method that VMs of the simulator don't have; the VM is the request's.
func (w *watch) QueryChangedDiskAreas(ctx *simulator.Context, req *types.QueryChangedDiskAreas) soap.HasFault {
	body := &methods.QueryChangedDiskAreasBody{}
	info, fault := w.changedAreas(ctx, req)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.QueryChangedDiskAreasResponse{Returnval: *info}
	return body
}

func (w *watch) changedAreas(ctx *simulator.Context, req *types.QueryChangedDiskAreas) (*types.DiskChangeInfo, types.BaseMethodFault) {
	vm, ok := w.registry.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return nil, &types.ManagedObjectNotFound{Obj: req.This}
	}
	var devices []types.BaseVirtualDevice
	ctx.WithLock(vm, func() { devices = vm.Config.Hardware.Device })
	if req.Snapshot != nil {
		snapshot, ok := w.registry.Get(*req.Snapshot).(*simulator.VirtualMachineSnapshot)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: *req.Snapshot}
		}
		devices = snapshot.Config.Hardware.Device
	}
	for _, device := range devices {
		disk, isDisk := device.(*types.VirtualDisk)
		if !isDisk || disk.Key != req.DeviceKey {
			continue
		}
		return w.areasOf(vm.Self, disk, req)
	}
	return nil, &types.InvalidArgument{InvalidProperty: "deviceKey"}
}

func (w *watch) areasOf(vm types.ManagedObjectReference, disk *types.VirtualDisk, req *types.QueryChangedDiskAreas) (*types.DiskChangeInfo, types.BaseMethodFault) {
	backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if !ok {
		return nil, &types.InvalidArgument{InvalidProperty: "deviceKey"}
	}
	if req.StartOffset < 0 || req.StartOffset >= disk.CapacityInBytes {
		return nil, &types.InvalidArgument{InvalidProperty: "startOffset"}
	}
	until := 1 << 30
	if req.Snapshot != nil {
		_, text, _ := strings.Cut(backing.ChangeId, "/")
		until, _ = strconv.Atoi(text)
	}
	areas, fault := w.tracking.since(diskKey{vm, disk.Key}, req.ChangeId, until, backing.FileName)
	if fault != nil {
		return nil, fault
	}
	info := &types.DiskChangeInfo{StartOffset: req.StartOffset, Length: disk.CapacityInBytes - req.StartOffset}
	w.tracking.mu.Lock()
	limit := w.tracking.answerBytes
	w.tracking.mu.Unlock()
	if limit > 0 {
		info.Length = min(info.Length, limit)
	}
	for _, area := range areas {
		start, end := max(area.Start, info.StartOffset), min(area.Start+area.Length, info.StartOffset+info.Length)
		if start < end {
			info.ChangedArea = append(info.ChangedArea, types.DiskChangeExtent{Start: start, Length: end - start})
		}
	}
	return info, nil
}
