module vmflow.dev/stack/vcsim

go 1.26

require github.com/vmware/govmomi v0.55.1
