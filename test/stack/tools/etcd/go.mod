module vmflow.dev/stack/etcd

go 1.26

require go.etcd.io/etcd/server/v3 v3.6.16
