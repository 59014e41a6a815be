// rueidislock on one Redis, as its README advises for that: a majority of one key, tracking without loops.
package main

import (
	"context"
	"sync"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var (
	once   sync.Once
	locker rueidislock.Locker
)

func connect(nodes []string) {
	var err error
	locker, err = rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: nodes},
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	must(err)
}

func main() {
	drive(func(nodes []string) Acquire {
		once.Do(func() { connect(nodes) })
		return func(name string) (func(), bool) {
			_, release, err := locker.WithContext(context.Background(), name)
			return release, err == nil
		}
	})
}
