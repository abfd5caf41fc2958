package main

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// newNic describes a network card that a test wants.
type newNic struct {
	Network string   `json:"network"` // inventory path
	Mac     string   `json:"mac"`     // empty: the simulator's choice
	Ips     []string `json:"ips"`     // what the guest says of it
}

// settings are changed where they are not empty.
type settings struct {
	Ref          string            `json:"ref"`
	Name         string            `json:"name"`
	InstanceUuid string            `json:"instanceUuid"`
	Cpus         int32             `json:"cpus"`
	MemoryMiB    int64             `json:"memoryMiB"`
	Annotation   string            `json:"annotation"`
	GuestId      string            `json:"guestId"`
	Firmware     string            `json:"firmware"`
	SecureBoot   *bool             `json:"secureBoot"`
	Tracking     *bool             `json:"tracking"`
	ExtraConfig  map[string]string `json:"extraConfig"` // an empty value removes the key
}

func (s settings) spec() types.VirtualMachineConfigSpec {
	spec := types.VirtualMachineConfigSpec{
		Name: s.Name, InstanceUuid: s.InstanceUuid, NumCPUs: s.Cpus, MemoryMB: s.MemoryMiB, Annotation: s.Annotation,
		GuestId: s.GuestId, Firmware: s.Firmware, ChangeTrackingEnabled: s.Tracking,
	}
	if s.SecureBoot != nil {
		spec.BootOptions = &types.VirtualMachineBootOptions{EfiSecureBootEnabled: s.SecureBoot}
	}
	for key, value := range s.ExtraConfig {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	return spec
}

func (c *control) reconfigure(ctx context.Context, ref string, spec types.VirtualMachineConfigSpec) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	return wait(ctx)(object.NewVirtualMachine(client, virtualMachine(ref)).Reconfigure(ctx, spec))
}

func (c *control) change(ctx context.Context, s settings) error {
	return c.reconfigure(ctx, s.Ref, s.spec())
}

// onDevices reconfigures a VM by what f makes of its devices.
func (c *control) onDevices(ctx context.Context, ref string, f func(object.VirtualDeviceList) ([]types.BaseVirtualDeviceConfigSpec, error)) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	devices, err := object.NewVirtualMachine(client, virtualMachine(ref)).Device(ctx)
	if err != nil {
		return err
	}
	changes, err := f(devices)
	if err != nil {
		return err
	}
	return c.reconfigure(ctx, ref, types.VirtualMachineConfigSpec{DeviceChange: changes})
}

func (d newDisk) device(devices object.VirtualDeviceList, controller types.BaseVirtualController) *types.VirtualDisk {
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, "")
	disk.CapacityInKB = d.Size / 1024
	backing := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	backing.DiskMode, backing.Sharing = orElse(d.Mode, backing.DiskMode), d.Sharing
	return disk
}

// addDisk answers the index of the new disk.
func (c *control) addDisk(ctx context.Context, ref string, d newDisk) (int, error) {
	err := c.onDevices(ctx, ref, func(devices object.VirtualDeviceList) ([]types.BaseVirtualDeviceConfigSpec, error) {
		controller, err := devices.FindDiskController("")
		if err != nil {
			return nil, err
		}
		return object.VirtualDeviceList{d.device(devices, controller)}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	})
	if err != nil {
		return 0, err
	}
	return c.finishDisks(ref, []newDisk{d})
}

// finishDisks gives the last disks of a VM their sizes and contents; it answers the index of the last one.
func (c *control) finishDisks(ref string, disks []newDisk) (int, error) {
	if err := c.stretch(ref); err != nil {
		return 0, err
	}
	places, err := c.placesOf(ref)
	if err != nil {
		return 0, err
	}
	first := len(places) - len(disks)
	for i, d := range disks {
		if d.Seed == 0 {
			continue
		}
		if _, err := c.fill(fillBody{ref, first + i, 0, d.Size, d.Seed}); err != nil {
			return 0, err
		}
	}
	return len(places) - 1, nil
}

func diskAt(devices object.VirtualDeviceList, key int32) (*types.VirtualDisk, error) {
	disk, ok := devices.FindByKey(key).(*types.VirtualDisk)
	if !ok {
		return nil, fmt.Errorf("there is no disk %d", key)
	}
	return disk, nil
}

func (c *control) removeDisk(ctx context.Context, ref string, index int) error {
	p, err := c.place(ref, index)
	if err != nil {
		return err
	}
	return c.onDevices(ctx, ref, func(devices object.VirtualDeviceList) ([]types.BaseVirtualDeviceConfigSpec, error) {
		disk, err := diskAt(devices, p.key.key)
		if err != nil {
			return nil, err
		}
		return object.VirtualDeviceList{disk}.ConfigSpec(types.VirtualDeviceConfigSpecOperationRemove)
	})
}

func (c *control) growDisk(ctx context.Context, ref string, index int, size int64) error {
	p, err := c.place(ref, index)
	if err != nil {
		return err
	}
	err = c.onDevices(ctx, ref, func(devices object.VirtualDeviceList) ([]types.BaseVirtualDeviceConfigSpec, error) {
		disk, err := diskAt(devices, p.key.key)
		if err != nil {
			return nil, err
		}
		disk.CapacityInKB, disk.CapacityInBytes = size/1024, size
		return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk}}, nil
	})
	if err != nil {
		return err
	}
	return c.stretch(ref)
}

func (n newNic) device(ctx context.Context, finder *find.Finder) (types.BaseVirtualDevice, error) {
	network, err := finder.Network(ctx, n.Network)
	if err != nil {
		return nil, err
	}
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return nil, err
	}
	device, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
	if err != nil || n.Mac == "" {
		return device, err
	}
	card := device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
	card.AddressType, card.MacAddress = string(types.VirtualEthernetCardMacTypeManual), n.Mac
	return device, nil
}

func (c *control) addNic(ctx context.Context, ref string, n newNic) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	device, err := n.device(ctx, find.NewFinder(client, true))
	if err != nil {
		return err
	}
	changes, err := object.VirtualDeviceList{device}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		return err
	}
	if err := c.reconfigure(ctx, ref, types.VirtualMachineConfigSpec{DeviceChange: changes}); err != nil {
		return err
	}
	return c.guest(ctx, guestBody{Ref: ref, Ips: map[string][]string{n.Mac: n.Ips}})
}

func (c *control) removeNic(ctx context.Context, ref, mac string) error {
	return c.onDevices(ctx, ref, func(devices object.VirtualDeviceList) ([]types.BaseVirtualDeviceConfigSpec, error) {
		for _, device := range devices {
			card, ok := device.(types.BaseVirtualEthernetCard)
			if ok && card.GetVirtualEthernetCard().MacAddress == mac {
				return object.VirtualDeviceList{device}.ConfigSpec(types.VirtualDeviceConfigSpecOperationRemove)
			}
		}
		return nil, fmt.Errorf("%s has no card %s", ref, mac)
	})
}

// guestBody is what the guest tools say: addresses by MAC, and the operating system (see guestInfo.detailed.data).
type guestBody struct {
	Ref      string              `json:"ref"`
	Ips      map[string][]string `json:"ips"`
	Detailed *string             `json:"detailed"` // empty: nothing
	Tools    *bool               `json:"tools"`    // whether they run
}

func (c *control) guest(ctx context.Context, body guestBody) error {
	spec := types.VirtualMachineConfigSpec{}
	if body.Detailed != nil {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: "guestInfo.detailed.data", Value: *body.Detailed})
	}
	if body.Tools != nil {
		status := types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
		if *body.Tools {
			status = types.VirtualMachineToolsRunningStatusGuestToolsRunning
		}
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: "SET.guest.toolsRunningStatus", Value: string(status)})
	}
	if len(body.Ips) > 0 {
		var nets []types.GuestNicInfo
		err := c.locked(body.Ref, func(vm *simulator.VirtualMachine) error {
			nets = append(nets, vm.Guest.Net...)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range nets {
			if ips, ok := body.Ips[nets[i].MacAddress]; ok {
				nets[i].IpAddress = ips
			}
		}
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: "SET.guest.net", Value: types.ArrayOfGuestNicInfo{GuestNicInfo: nets}})
	}
	if len(spec.ExtraConfig) == 0 {
		return nil
	}
	return c.reconfigure(ctx, body.Ref, spec)
}
