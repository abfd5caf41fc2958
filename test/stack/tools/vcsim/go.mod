module vmflow.dev/stack/vcsim

go 1.26

require (
	github.com/google/uuid v1.6.0
	github.com/vmware/govmomi v0.55.1
)

require golang.org/x/text v0.38.0 // indirect
