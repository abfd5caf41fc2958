//go:build tools

// Package tools pins the command that the stack builds.
package tools

import _ "go.etcd.io/etcd/server/v3"
