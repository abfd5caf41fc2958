//go:build tools

// Package tools pins the command that the tests build.
package tools

import _ "github.com/temporalio/ui-server/v2/cmd/server"
