// redsync with go-redis, one pool for each node, as its README shows; default expiry apart, everything is the default.
package main

import (
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var (
	once   sync.Once
	shared *redsync.Redsync
)

func connect(nodes []string) {
	var pools []redsyncredis.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: node})))
	}
	shared = redsync.New(pools...)
}

func main() {
	drive(func(nodes []string) Acquire {
		once.Do(func() { connect(nodes) })
		return func(name string) (func(), bool) {
			mutex := shared.NewMutex(name, redsync.WithExpiry(15*time.Second))
			if mutex.Lock() != nil {
				return nil, false
			}
			return func() { mutex.Unlock() }, true
		}
	})
}
