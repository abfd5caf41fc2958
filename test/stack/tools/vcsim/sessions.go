package main

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type sessionRow struct {
	Key        string    `json:"key"`
	User       string    `json:"user"`
	LoginTime  time.Time `json:"loginTime"`
	LastActive time.Time `json:"lastActive"`
	Calls      int64     `json:"calls"`
}

func (c *control) client(ctx context.Context) (*vim25.Client, error) {
	return vim25.NewClient(ctx, c.model.Service)
}

func (c *control) sessions(ctx context.Context) ([]sessionRow, error) {
	client, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	var manager mo.SessionManager
	ref := *client.ServiceContent.SessionManager
	if err := property.DefaultCollector(client).RetrieveOne(ctx, ref, []string{"sessionList"}, &manager); err != nil {
		return nil, err
	}
	rows := make([]sessionRow, 0, len(manager.SessionList))
	for _, s := range manager.SessionList {
		rows = append(rows, sessionRow{s.Key, s.UserName, s.LoginTime, s.LastActiveTime, s.CallCount})
	}
	return rows, nil
}

// terminate ends the session with this key, or all of them; it returns how many.
func (c *control) terminate(ctx context.Context, key string) (int, error) {
	rows, err := c.sessions(ctx)
	if err != nil {
		return 0, err
	}
	client, err := c.client(ctx)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, row := range rows {
		if key != "" && row.Key != key {
			continue
		}
		req := &types.TerminateSession{This: *client.ServiceContent.SessionManager, SessionId: []string{row.Key}}
		if _, err := methods.TerminateSession(ctx, client, req); err == nil { // an error means: gone by itself meanwhile
			ended++
		}
	}
	return ended, nil
}

type leaseRow struct {
	Lease   string `json:"lease"`
	State   string `json:"state"`
	Percent int32  `json:"percent"`
	Entity  string `json:"entity,omitempty"`
	Name    string `json:"name,omitempty"`
}

// eachLease visits the open leases of all sessions.
func (c *control) eachLease(visit func(*simulator.Context, *simulator.HttpNfcLease)) {
	for _, session := range c.watch.knownSessions() {
		ctx := &simulator.Context{Context: context.Background(), Session: session, Map: c.model.Map()}
		for _, ref := range session.Registry.AllReference("HttpNfcLease") {
			if lease, ok := ref.(*simulator.HttpNfcLease); ok {
				visit(ctx, lease)
			}
		}
	}
}

func (c *control) leases() []leaseRow {
	rows := []leaseRow{}
	c.eachLease(func(ctx *simulator.Context, lease *simulator.HttpNfcLease) {
		var row leaseRow
		ctx.WithLock(lease, func() {
			row = leaseRow{Lease: lease.Self.Value, State: string(lease.State), Percent: lease.TransferProgress}
			if lease.Info != nil {
				row.Entity = lease.Info.Entity.Value
				row.Name = c.watch.name(lease.Info.Entity)
			}
		})
		rows = append(rows, row)
	})
	return rows
}

// abortLeases takes the leases away behind their owners' backs: the next call on one finds nothing.
func (c *control) abortLeases(lease string) int {
	count := 0
	c.eachLease(func(ctx *simulator.Context, l *simulator.HttpNfcLease) {
		if lease != "" && l.Self.Value != lease {
			return
		}
		l.HttpNfcLeaseAbort(ctx, &types.HttpNfcLeaseAbort{This: l.Self})
		count++
	})
	return count
}

// failLeases puts open leases into the state error, as vCenter does after its time-out.
func (c *control) failLeases(lease, faultName string) (int, error) {
	fault, err := newFault(&rule{Fault: faultName}, types.ManagedObjectReference{})
	if err != nil {
		return 0, fmt.Errorf("fail a lease: %w", err)
	}
	count := 0
	c.eachLease(func(ctx *simulator.Context, l *simulator.HttpNfcLease) {
		if lease != "" && l.Self.Value != lease {
			return
		}
		ctx.WithLock(l, func() {
			ctx.Update(l, []types.PropertyChange{
				{Name: "state", Val: types.HttpNfcLeaseStateError},
				{Name: "error", Val: &types.LocalizedMethodFault{Fault: fault, LocalizedMessage: faultName}},
			})
		})
		count++
	})
	return count, nil
}
