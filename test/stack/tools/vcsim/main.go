// Command vcsim is the vCenter of the development stack and of the tests: the simulator of govmomi with REST tagging
// and TLS, plus a control API on loopback that makes it slow, faulty or forgetful on request.
//
// It prints one JSON line when it is ready and ends when its standard input ends, so that a killed parent leaves
// nothing behind.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

// ready is the one line on standard output.
type ready struct {
	URL     string `json:"url"`
	Control string `json:"control"`
	Pid     int    `json:"pid"`
	Sha256  string `json:"sha256,omitempty"`
	Sha1    string `json:"sha1,omitempty"`
}

func main() {
	log.SetFlags(log.Lmicroseconds)
	opts := parseOptions(flag.CommandLine, os.Args[1:])
	if err := run(opts); err != nil {
		fmt.Fprintf(os.Stderr, "vcsim: %v\n", err)
		os.Exit(1)
	}
}

func run(opts *options) error {
	model := opts.model()
	if err := model.Create(); err != nil {
		return fmt.Errorf("build the inventory: %w", err)
	}
	defer model.Remove()

	tlsConfig, err := opts.tlsConfig()
	if err != nil {
		return err
	}
	service := model.Service
	service.TLS = tlsConfig
	service.Listen = &url.URL{Host: opts.listen, User: url.UserPassword(opts.username, opts.password)}
	service.RegisterEndpoints = true

	watch := newWatch(model)
	server := service.NewServer()
	defer server.Close()
	nfc := newNfc()
	server.Server.Config.Handler = nfc.wrap(watch.wrap(server.Server.Config.Handler))

	control, err := startControl(&control{model: model, server: server, watch: watch, nfc: nfc, delays: newDelays(model, opts.methodDelay)})
	if err != nil {
		return err
	}

	line := ready{URL: publicURL(server), Control: control, Pid: os.Getpid()}
	if tlsConfig != nil {
		info := server.CertificateInfo()
		line.Sha256, line.Sha1 = info.ThumbprintSHA256, info.ThumbprintSHA1
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	waitForEnd()
	return nil
}

// publicURL leaves the credentials out: whoever started us knows them.
func publicURL(server *simulator.Server) string {
	u := *server.URL
	u.User = nil
	return u.String()
}

func waitForEnd() {
	end := make(chan os.Signal, 2)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end <- syscall.SIGTERM
	}()
	<-end
}
