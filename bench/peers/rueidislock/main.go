// rueidislock on one Redis, as its README advises for that: a majority of one key, tracking without loops. A wait ends after
// a while: without that this driver was seen to hang for good with many waiters in one process.
package main

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const patience = 5 * time.Second

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
			ctx, stop := context.WithTimeout(context.Background(), patience)
			_, release, err := locker.WithContext(ctx, name)
			if err != nil {
				stop()
				return nil, false
			}
			return func() { release(); stop() }, true
		}
	})
}
