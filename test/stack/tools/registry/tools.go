//go:build tools

// Package tools pins the command that the stack builds.
package tools

import _ "github.com/distribution/distribution/v3/cmd/registry"
