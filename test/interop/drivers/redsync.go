// redsync with go-redis, one pool for each node.
package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type peer struct {
	locks *redsync.Redsync
	mutex *redsync.Mutex
	ttl   time.Duration
	nodes int
}

func (p *peer) Acquire(ttl time.Duration, name string) (bool, error) {
	p.ttl = ttl
	mutex := p.locks.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(1))
	err := mutex.TryLock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return false, nil
	} else if err == nil {
		p.mutex = mutex
	}
	return err == nil, err
}

// A mutex extends by the expiry it was made with; so does one made anew with its value.
func (p *peer) Extend(ttl time.Duration) (bool, error) {
	p.mutex = p.locks.NewMutex(p.mutex.Name(), redsync.WithExpiry(ttl), redsync.WithValue(p.mutex.Value()))
	done, err := p.mutex.Extend()
	if !done {
		return false, unless(err, redsync.ErrExtendFailed)
	}
	return true, nil
}

func (p *peer) Release() (bool, error) {
	done, err := p.mutex.Unlock()
	if !done {
		return false, unless(err, redsync.ErrLockAlreadyExpired)
	}
	return true, nil
}

// unless is the error, but for those that say that the lock is not ours any more.
func unless(err, loss error) error {
	var taken *redsync.ErrTaken
	if errors.Is(err, loss) || errors.As(err, &taken) {
		return nil
	}
	return err
}

func main() {
	serve(func(_ string, nodes []string) (Peer, error) {
		var pools []redsyncredis.Pool
		for _, node := range nodes {
			pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: node})))
		}
		return &peer{locks: redsync.New(pools...), nodes: len(nodes)}, nil
	})
}
