module driver

go 1.22

require go.etcd.io/etcd/client/v3 v3.5.31
