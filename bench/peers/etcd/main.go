// etcd's own recipe for locks: concurrency.Mutex, a session (a lease kept alive) for each client, one connection for all.
package main

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var (
	once   sync.Once
	shared *clientv3.Client
)

func connect(nodes []string) {
	var err error
	shared, err = clientv3.New(clientv3.Config{Endpoints: nodes, DialTimeout: 5 * time.Second,
		DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 2 * time.Second})
	must(err)
}

func main() {
	drive(func(nodes []string) Acquire {
		once.Do(func() { connect(nodes) })
		session, err := concurrency.NewSession(shared, concurrency.WithTTL(15))
		must(err)
		return func(name string) (func(), bool) {
			mutex := concurrency.NewMutex(session, "/"+name)
			if mutex.Lock(context.Background()) != nil {
				return nil, false
			}
			return func() { mutex.Unlock(context.Background()) }, true
		}
	})
}
