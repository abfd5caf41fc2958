package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// newDisk describes a disk of a VM that a test wants.
type newDisk struct {
	Size    int64  `json:"size"`    // bytes, whole KiB
	Seed    uint64 `json:"seed"`    // not 0: filled with random bytes that follow from it
	Mode    string `json:"mode"`    // e.g. independent_persistent; empty: persistent
	Sharing string `json:"sharing"` // e.g. sharingMultiWriter
}

// place is where a disk of a VM lies.
type place struct {
	key        diskKey
	capacity   int64
	descriptor string
	flat       string
}

// locked runs f while the VM is locked, so that it sees no half of a change.
func (c *control) locked(ref string, f func(*simulator.VirtualMachine) error) error {
	self := virtualMachine(ref)
	vm, ok := c.model.Map().Get(self).(*simulator.VirtualMachine)
	if !ok {
		return fmt.Errorf("there is no VM %s", ref)
	}
	var err error
	ctx := &simulator.Context{Context: context.Background(), Map: c.model.Map()}
	ctx.WithLock(vm, func() { err = f(vm) })
	return err
}

// disksOf are the disks of a VM in the order of their keys.
func disksOf(vm *simulator.VirtualMachine) []*types.VirtualDisk {
	found := []*types.VirtualDisk{}
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			found = append(found, disk)
		}
	}
	slices.SortFunc(found, func(a, b *types.VirtualDisk) int { return int(a.Key - b.Key) })
	return found
}

func (c *control) placesOf(ref string) (places []place, err error) {
	err = c.locked(ref, func(vm *simulator.VirtualMachine) error {
		for _, disk := range disksOf(vm) {
			backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if !ok || backing.Datastore == nil {
				return fmt.Errorf("disk %d of %s has no file of its own", disk.Key, ref)
			}
			store, ok := c.model.Map().Get(*backing.Datastore).(*simulator.Datastore)
			if !ok {
				return fmt.Errorf("the datastore of %s is gone", backing.FileName)
			}
			var file object.DatastorePath
			file.FromString(backing.FileName)
			descriptor := path.Join(store.Summary.Url, file.Path)
			places = append(places, place{diskKey{vm.Self, disk.Key}, disk.CapacityInBytes, descriptor, simulator.VirtualDiskBackingFileName(descriptor)})
		}
		return nil
	})
	return places, err
}

func (c *control) place(ref string, index int) (place, error) {
	places, err := c.placesOf(ref)
	if err != nil {
		return place{}, err
	}
	if index < 0 || index >= len(places) {
		return place{}, fmt.Errorf("%s has %d disks, none with index %d", ref, len(places), index)
	}
	return places[index], nil
}

// stretch gives the flat files of a VM the sizes of their disks; the simulator leaves them empty.
func (c *control) stretch(ref string) error {
	places, err := c.placesOf(ref)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := os.Truncate(p.flat, p.capacity); err != nil {
			return err
		}
	}
	return nil
}

// write copies bytes onto a disk and records the changed area.
func (c *control) write(ref string, index int, start int64, content io.Reader) (int64, error) {
	p, err := c.place(ref, index)
	if err != nil {
		return 0, err
	}
	written, err := p.write(start, content)
	if err == nil {
		c.watch.tracking.wrote(p.key, start, written)
	}
	return written, err
}

// write puts bytes into the flat file; nobody is told.
func (p place) write(start int64, content io.Reader) (int64, error) {
	file, err := os.OpenFile(p.flat, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	written, err := io.Copy(io.NewOffsetWriter(file, start), io.LimitReader(content, p.capacity-start+1))
	if err == nil && start+written > p.capacity {
		err = fmt.Errorf("the disk ends at %d", p.capacity)
		_ = file.Truncate(p.capacity)
	}
	return written, err
}

// random is an endless stream of bytes that follow from the seed.
func random(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

type fillBody struct {
	Vm     string
	Disk   int
	Start  int64
	Length int64
	Seed   uint64
}

func (c *control) fill(body fillBody) (int64, error) {
	return c.write(body.Vm, body.Disk, body.Start, io.LimitReader(random(body.Seed), body.Length))
}

type digestRow struct {
	Size   int64  `json:"size"`
	Sha256 string `json:"sha256"`
}

// digest is that of the whole flat file.
func (c *control) digest(ref string, index int) (digestRow, error) {
	p, err := c.place(ref, index)
	if err != nil {
		return digestRow{}, err
	}
	file, err := os.Open(p.flat)
	if err != nil {
		return digestRow{}, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	return digestRow{size, hex.EncodeToString(sum.Sum(nil))}, err
}

// trackingFiles puts a change tracking file beside each disk of a VM, or takes them away.
func (c *control) trackingFiles(ref string, there bool) error {
	places, err := c.placesOf(ref)
	if err != nil {
		return err
	}
	for _, p := range places {
		file := strings.TrimSuffix(p.descriptor, ".vmdk") + "-ctk.vmdk"
		if !there {
			_ = os.Remove(file)
		} else if err := os.WriteFile(file, []byte("change tracking"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *control) resetTracking(ref string) error {
	c.watch.tracking.reset(virtualMachine(ref))
	return c.locked(ref, func(vm *simulator.VirtualMachine) error {
		c.watch.tracking.follow(&vm.VirtualMachine)
		return nil
	})
}

// serveDisk takes raw bytes: PUT /disks/{vm}/{index}?start=N writes onto the disk, with ?as=descriptor the body becomes the
// file that an export lease serves.
func (c *control) serveDisk(res http.ResponseWriter, req *http.Request) {
	index, err := strconv.Atoi(req.PathValue("index"))
	if err == nil && req.URL.Query().Get("as") == "descriptor" {
		err = c.replaceDescriptor(req.PathValue("vm"), index, req.Body)
	} else if err == nil {
		start, _ := strconv.ParseInt(req.URL.Query().Get("start"), 10, 64)
		if req.URL.Query().Get("as") == "secret" {
			var p place
			if p, err = c.place(req.PathValue("vm"), index); err == nil {
				_, err = p.write(start, req.Body)
			}
		} else {
			_, err = c.write(req.PathValue("vm"), index, start, req.Body)
		}
	}
	if err != nil {
		answer(res, http.StatusUnprocessableEntity, map[string]string{"error": err.Error()})
		return
	}
	answer(res, http.StatusOK, ok)
}

func (c *control) replaceDescriptor(ref string, index int, content io.Reader) error {
	p, err := c.place(ref, index)
	if err != nil {
		return err
	}
	var whole bytes.Buffer
	if _, err := whole.ReadFrom(content); err != nil {
		return err
	}
	return os.WriteFile(p.descriptor, whole.Bytes(), 0o600)
}
