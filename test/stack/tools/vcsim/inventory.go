package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// newVM describes a VM that a test wants to find in the inventory.
type newVM struct {
	Folder      string            `json:"folder"` // inventory path, e.g. /DC0/vm
	Name        string            `json:"name"`
	Datastore   string            `json:"datastore"`
	Pool        string            `json:"pool"`
	Template    bool              `json:"template"`
	PoweredOn   bool              `json:"poweredOn"`
	Snapshot    string            `json:"snapshot"`
	Annotation  string            `json:"annotation"`
	ExtraConfig map[string]string `json:"extraConfig"` // $ref in a value becomes the VM's own reference
	Version     string            `json:"version"`     // product version of the vAppConfig
	DiskMiB     int64             `json:"diskMiB"`
	Network     string            `json:"network"` // inventory path of the network that its card is on
	Disks       []newDisk         `json:"disks"`
	Nics        []newNic          `json:"nics"`
	Host        string            `json:"host"`    // inventory path
	NoTools     bool              `json:"noTools"` // guest tools don't run; else they do
	Settings    settings          `json:"settings"`
}

func (c *control) createVM(ctx context.Context, v newVM) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	client, err := c.client(ctx)
	if err != nil {
		return none, err
	}
	finder := find.NewFinder(client, true)
	folder, err := finder.Folder(ctx, orElse(v.Folder, "/DC0/vm"))
	if err != nil {
		return none, err
	}
	pool, err := c.pool(ctx, finder, v.Pool, v.Folder)
	if err != nil {
		return none, err
	}
	spec, err := v.completeSpec(ctx, finder)
	if err != nil {
		return none, err
	}
	var host *object.HostSystem
	if v.Host != "" {
		if host, err = finder.HostSystem(ctx, v.Host); err != nil {
			return none, err
		}
	}
	task, err := folder.CreateVM(ctx, spec, pool, host)
	if err != nil {
		return none, err
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return none, err
	}
	ref, ok := info.Result.(types.ManagedObjectReference)
	if !ok {
		return none, fmt.Errorf("create VM %s: no result", v.Name)
	}
	if err := c.finishNew(ctx, ref.Value, v); err != nil {
		return none, err
	}
	return ref, v.finish(ctx, object.NewVirtualMachine(client, ref))
}

// completeSpec is the spec with cards, which need the inventory.
func (v newVM) completeSpec(ctx context.Context, finder *find.Finder) (types.VirtualMachineConfigSpec, error) {
	spec := v.spec()
	nics := v.Nics
	if v.Network != "" {
		nics = append([]newNic{{Network: v.Network}}, nics...)
	}
	for _, nic := range nics {
		device, err := nic.device(ctx, finder)
		if err != nil {
			return spec, err
		}
		changes, err := object.VirtualDeviceList{device}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
		if err != nil {
			return spec, err
		}
		spec.DeviceChange = append(spec.DeviceChange, changes...)
	}
	return spec, nil
}

// finishNew does what a spec can't: contents of disks, addresses of guests.
func (c *control) finishNew(ctx context.Context, ref string, v newVM) error {
	if len(v.Disks) > 0 || v.DiskMiB > 0 {
		if _, err := c.finishDisks(ref, v.Disks); err != nil {
			return err
		}
	}
	ips := map[string][]string{}
	for _, nic := range v.Nics {
		if len(nic.Ips) > 0 {
			ips[nic.Mac] = nic.Ips
		}
	}
	guest := guestBody{Ref: ref, Ips: ips}
	if tools := !v.NoTools; !v.Template {
		guest.Tools = &tools
	}
	return c.guest(ctx, guest)
}

// pool is the one with this path, else that of the first cluster of the folder's datacenter, else that of any host there.
func (c *control) pool(ctx context.Context, finder *find.Finder, path, folder string) (*object.ResourcePool, error) {
	if path != "" {
		return finder.ResourcePool(ctx, path)
	}
	datacenter, _, _ := strings.Cut(strings.TrimPrefix(orElse(folder, "/DC0/vm"), "/"), "/")
	clusters, err := finder.ClusterComputeResourceList(ctx, "/"+datacenter+"/host/*")
	if err == nil {
		return clusters[0].ResourcePool(ctx)
	}
	pools, err := finder.ResourcePoolList(ctx, "/"+datacenter+"/host/*/Resources")
	if err != nil {
		return nil, err
	}
	return pools[0], nil
}

func (v newVM) spec() types.VirtualMachineConfigSpec {
	spec := v.Settings.spec()
	spec.Name = v.Name
	spec.GuestId = orElse(spec.GuestId, string(types.VirtualMachineGuestOsIdentifierOtherGuest64))
	spec.NumCPUs, spec.MemoryMB = max(spec.NumCPUs, 1), max(spec.MemoryMB, 64)
	spec.Annotation = orElse(v.Annotation, spec.Annotation)
	spec.Files = &types.VirtualMachineFileInfo{VmPathName: "[" + orElse(v.Datastore, "LocalDS_0") + "]"}
	for key, value := range v.ExtraConfig {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	if v.Version != "" {
		spec.VAppConfig = &types.VmConfigSpec{Product: []types.VAppProductSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.VAppProductInfo{Key: 1, Name: v.Name, Version: v.Version},
		}}}
	}
	disks := v.Disks
	if v.DiskMiB > 0 {
		disks = append([]newDisk{{Size: v.DiskMiB << 20}}, disks...)
	}
	spec.DeviceChange = devicesOf(disks)
	return spec
}

func devicesOf(disks []newDisk) []types.BaseVirtualDeviceConfigSpec {
	devices := object.VirtualDeviceList{}
	controller, err := devices.CreateSCSIController("pvscsi")
	if err != nil || len(disks) == 0 {
		return nil
	}
	devices = append(devices, controller)
	for _, disk := range disks {
		devices = append(devices, disk.device(devices, controller.(types.BaseVirtualController)))
	}
	changes, err := devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		return nil
	}
	return changes
}

func (v newVM) namesItself() bool {
	for _, value := range v.ExtraConfig {
		if strings.Contains(value, "$ref") {
			return true
		}
	}
	return false
}

// own is the extraConfig once the VM's reference is known.
func (v newVM) own(ref string) types.VirtualMachineConfigSpec {
	spec := types.VirtualMachineConfigSpec{}
	for key, value := range v.ExtraConfig {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: strings.ReplaceAll(value, "$ref", ref)})
	}
	return spec
}

// finish brings a new VM into the wished state; the order matters: a template can do nothing more.
func (v newVM) finish(ctx context.Context, vm *object.VirtualMachine) error {
	if v.namesItself() {
		if err := wait(ctx)(vm.Reconfigure(ctx, v.own(vm.Reference().Value))); err != nil {
			return err
		}
	}
	if v.Snapshot != "" {
		if err := wait(ctx)(vm.CreateSnapshot(ctx, v.Snapshot, "", false, false)); err != nil {
			return err
		}
	}
	if v.PoweredOn {
		if err := wait(ctx)(vm.PowerOn(ctx)); err != nil {
			return err
		}
	}
	if v.Template {
		return vm.MarkAsTemplate(ctx)
	}
	return nil
}

func wait(ctx context.Context) func(*object.Task, error) error {
	return func(task *object.Task, err error) error {
		if err != nil {
			return err
		}
		return task.Wait(ctx)
	}
}

func orElse(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// vmChange is something that a person does to a VM by hand.
type vmChange struct {
	Ref       string `json:"ref"`
	Operation string `json:"operation"` // rename, destroy, clone, powerOn, powerOff, suspend, markAsTemplate, snapshot, removeSnapshot, move, relocate
	Name      string `json:"name"`      // of rename, clone and snapshots
	Folder    string `json:"folder"`    // of clone and move
	Host      string `json:"host"`      // of relocate
}

// changeVM returns the reference of the VM or, for clone, of the new one. Locks are respected: it waits for running tasks.
func (c *control) changeVM(ctx context.Context, change vmChange) (string, error) {
	client, err := c.client(ctx)
	if err != nil {
		return "", err
	}
	vm := object.NewVirtualMachine(client, types.ManagedObjectReference{Type: "VirtualMachine", Value: change.Ref})
	switch change.Operation {
	case "rename":
		return change.Ref, wait(ctx)(vm.Rename(ctx, change.Name))
	case "destroy":
		return change.Ref, wait(ctx)(vm.Destroy(ctx))
	case "powerOn":
		return change.Ref, wait(ctx)(vm.PowerOn(ctx))
	case "powerOff":
		return change.Ref, wait(ctx)(vm.PowerOff(ctx))
	case "suspend":
		return change.Ref, wait(ctx)(vm.Suspend(ctx))
	case "markAsTemplate":
		return change.Ref, vm.MarkAsTemplate(ctx)
	case "snapshot":
		return change.Ref, wait(ctx)(vm.CreateSnapshot(ctx, change.Name, "", false, false))
	case "removeSnapshot":
		return change.Ref, wait(ctx)(vm.RemoveSnapshot(ctx, change.Name, false, nil))
	case "move":
		return change.Ref, c.move(ctx, client, change)
	case "relocate":
		return change.Ref, c.relocate(ctx, client, vm, change.Host)
	case "clone":
		return c.clone(ctx, client, vm, change)
	default:
		return "", fmt.Errorf("operation %q is unknown", change.Operation)
	}
}

func (c *control) move(ctx context.Context, client *vim25.Client, change vmChange) error {
	folder, err := find.NewFinder(client, true).Folder(ctx, change.Folder)
	if err != nil {
		return err
	}
	return wait(ctx)(folder.MoveInto(ctx, []types.ManagedObjectReference{virtualMachine(change.Ref)}))
}

func (c *control) relocate(ctx context.Context, client *vim25.Client, vm *object.VirtualMachine, path string) error {
	host, err := find.NewFinder(client, true).HostSystem(ctx, path)
	if err != nil {
		return err
	}
	to := host.Reference()
	return wait(ctx)(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &to}, types.VirtualMachineMovePriorityDefaultPriority))
}

func (c *control) clone(ctx context.Context, client *vim25.Client, vm *object.VirtualMachine, change vmChange) (string, error) {
	finder := find.NewFinder(client, true)
	folder, err := finder.Folder(ctx, orElse(change.Folder, "/DC0/vm"))
	if err != nil {
		return "", err
	}
	pool, err := c.pool(ctx, finder, "", change.Folder)
	if err != nil {
		return "", err
	}
	ref := pool.Reference()
	task, err := vm.Clone(ctx, folder, change.Name, types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &ref}})
	if err != nil {
		return "", err
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return "", err
	}
	clone, _ := info.Result.(types.ManagedObjectReference)
	return clone.Value, nil
}

type vmRow struct {
	Ref         string            `json:"ref"`
	Name        string            `json:"name"`
	Parent      string            `json:"parent"`
	Host        string            `json:"host,omitempty"`
	Template    bool              `json:"template"`
	PowerState  string            `json:"powerState"`
	Version     string            `json:"version,omitempty"`
	Annotation  string            `json:"annotation,omitempty"`
	ExtraConfig map[string]string `json:"extraConfig"`
	Networks    []string          `json:"networks"`
	Disks       []diskRow         `json:"disks"`
}

type diskRow struct {
	File        string `json:"file"`
	CapacityKiB int64  `json:"capacityKiB"`
}

func (c *control) listVMs(ctx context.Context) ([]vmRow, error) {
	client, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	container, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = container.Destroy(ctx) }()
	var vms []mo.VirtualMachine
	if err := container.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "parent", "config", "runtime", "network"}, &vms); err != nil {
		return nil, err
	}
	rows := make([]vmRow, 0, len(vms))
	for _, vm := range vms {
		rows = append(rows, rowOf(vm))
	}
	return rows, nil
}

func rowOf(vm mo.VirtualMachine) vmRow {
	row := vmRow{
		Ref: vm.Self.Value, Name: vm.Name, PowerState: string(vm.Runtime.PowerState),
		ExtraConfig: map[string]string{}, Networks: []string{}, Disks: []diskRow{},
	}
	if vm.Parent != nil {
		row.Parent = vm.Parent.Value
	}
	if vm.Runtime.Host != nil {
		row.Host = vm.Runtime.Host.Value
	}
	for _, network := range vm.Network {
		row.Networks = append(row.Networks, network.Value)
	}
	if vm.Config == nil {
		return row
	}
	row.Template, row.Annotation = vm.Config.Template, vm.Config.Annotation
	for _, option := range vm.Config.ExtraConfig {
		o := option.GetOptionValue()
		row.ExtraConfig[o.Key] = fmt.Sprint(o.Value)
	}
	if vm.Config.VAppConfig != nil {
		for _, product := range vm.Config.VAppConfig.GetVmConfigInfo().Product {
			row.Version = product.Version
		}
	}
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disk := device.(*types.VirtualDisk)
		d := diskRow{CapacityKiB: disk.CapacityInKB}
		if backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			d.File = backing.GetVirtualDeviceFileBackingInfo().FileName
		}
		row.Disks = append(row.Disks, d)
	}
	return row
}

func (c *control) createFolder(ctx context.Context, parent, name string) (string, error) {
	client, err := c.client(ctx)
	if err != nil {
		return "", err
	}
	folder, err := find.NewFinder(client, true).Folder(ctx, orElse(parent, "/DC0/vm"))
	if err != nil {
		return "", err
	}
	child, err := folder.CreateFolder(ctx, name)
	if err != nil {
		return "", err
	}
	return child.Reference().Value, nil
}

// resolve returns the reference of whatever has this inventory path, or an empty one.
func (c *control) resolve(ctx context.Context, path string) (types.ManagedObjectReference, error) {
	client, err := c.client(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	found, err := object.NewSearchIndex(client).FindByInventoryPath(ctx, path)
	if err != nil || found == nil {
		return types.ManagedObjectReference{}, err
	}
	return found.Reference(), nil
}

// maintenance moves the hosts whose path matches in or out of maintenance mode.
func (c *control) maintenance(ctx context.Context, pattern string, on bool) (int, error) {
	client, err := c.client(ctx)
	if err != nil {
		return 0, err
	}
	hosts, err := find.NewFinder(client, true).HostSystemList(ctx, pattern)
	if err != nil {
		return 0, err
	}
	for _, host := range hosts {
		if err := setMaintenance(ctx, client, host, on); err != nil {
			return 0, err
		}
	}
	return len(hosts), nil
}

func setMaintenance(ctx context.Context, client *vim25.Client, host *object.HostSystem, on bool) error {
	var current mo.HostSystem
	if err := property.DefaultCollector(client).RetrieveOne(ctx, host.Reference(), []string{"runtime"}, &current); err != nil {
		return err
	}
	if current.Runtime.InMaintenanceMode == on {
		return nil
	}
	if on {
		return wait(ctx)(host.EnterMaintenanceMode(ctx, 0, false, nil))
	}
	return wait(ctx)(host.ExitMaintenanceMode(ctx, 0))
}
