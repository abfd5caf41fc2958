package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
)

type options struct {
	listen             string
	tls                bool
	tlsCert, tlsKey    string
	username, password string
	esx                bool
	autostart          bool
	apiVersion         string
	delay              int
	delayJitter        float64
	methodDelay        map[string]int

	dc, cluster, host, standaloneHost, ds, vm, pool, folder, app, pod, pg, nsx int
}

func parseOptions(flags *flag.FlagSet, args []string) *options {
	o := &options{methodDelay: map[string]int{}}
	flags.StringVar(&o.listen, "l", "127.0.0.1:0", "address to listen on; port 0 picks a free one")
	flags.BoolVar(&o.tls, "tls", true, "serve TLS")
	flags.StringVar(&o.tlsCert, "tlscert", "", "certificate file (default: the simulator's own)")
	flags.StringVar(&o.tlsKey, "tlskey", "", "key file")
	flags.StringVar(&o.username, "username", "user", "the only user that may log in")
	flags.StringVar(&o.password, "password", envOr("VCSIM_PASSWORD", "pass"), "the user's password (also VCSIM_PASSWORD)")
	flags.BoolVar(&o.esx, "esx", false, "a lone ESXi host instead of a vCenter")
	flags.BoolVar(&o.autostart, "autostart", true, "power on the VMs of the inventory")
	flags.StringVar(&o.apiVersion, "api-version", "", "API version to report")
	flags.IntVar(&o.delay, "delay", 0, "delay of every call in milliseconds")
	flags.Float64Var(&o.delayJitter, "delay-jitter", 0, "relative spread of the delay")
	flags.Func("method-delay", "delays in milliseconds, e.g. 'Rename:300,LockHandoff:0'; Rename_Task delays the call, Rename the task", o.addMethodDelays)
	flags.IntVar(&o.dc, "dc", 1, "datacenters")
	flags.IntVar(&o.cluster, "cluster", 1, "clusters per datacenter")
	flags.IntVar(&o.host, "host", 3, "hosts per cluster")
	flags.IntVar(&o.standaloneHost, "standalone-host", 1, "standalone hosts per datacenter")
	flags.IntVar(&o.ds, "ds", 1, "datastores")
	flags.IntVar(&o.vm, "vm", 2, "VMs per resource pool")
	flags.IntVar(&o.pool, "pool", 0, "resource pools per cluster")
	flags.IntVar(&o.folder, "folder", 0, "datacenters to put inside folders")
	flags.IntVar(&o.app, "app", 0, "virtual apps per cluster")
	flags.IntVar(&o.pod, "pod", 0, "storage pods")
	flags.IntVar(&o.pg, "pg", 1, "distributed port groups per datacenter")
	flags.IntVar(&o.nsx, "nsx", 0, "opaque networks per datacenter")
	_ = flags.Parse(args)
	return o
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func (o *options) addMethodDelays(list string) error {
	for _, entry := range strings.Split(list, ",") {
		name, ms, ok := strings.Cut(strings.TrimSpace(entry), ":")
		n, err := strconv.Atoi(ms)
		if !ok || err != nil || n < 0 {
			return fmt.Errorf("%q is not METHOD:MILLISECONDS", entry)
		}
		o.methodDelay[name] = n
	}
	return nil
}

func (o *options) model() *simulator.Model {
	model := simulator.VPX()
	if o.esx {
		model = simulator.ESX()
	} else {
		model.Datacenter, model.Cluster, model.ClusterHost = o.dc, o.cluster, o.host
		model.Portgroup, model.OpaqueNetwork, model.Pod = o.pg, o.nsx, o.pod
		model.Pool, model.Folder, model.App, model.Host = o.pool, o.folder, o.app, o.standaloneHost
	}
	model.Autostart, model.Datastore, model.Machine = o.autostart, o.ds, o.vm
	model.DelayConfig.Delay, model.DelayConfig.DelayJitter = o.delay, o.delayJitter
	if o.apiVersion != "" {
		model.ServiceContent.About.ApiVersion = o.apiVersion
	}
	return model
}

func (o *options) tlsConfig() (*tls.Config, error) {
	if !o.tls {
		return nil, nil
	}
	config := &tls.Config{}
	if o.tlsCert == "" {
		return config, nil
	}
	certificate, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{certificate}
	return config, nil
}
