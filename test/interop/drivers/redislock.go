// bsm/redislock with go-redis on one node.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type peer struct {
	locks *redislock.Client
	lock  *redislock.Lock
}

func (p *peer) Acquire(ttl time.Duration, name string) (bool, error) {
	lock, err := p.locks.Obtain(context.Background(), name, ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	} else if err == nil {
		p.lock = lock
	}
	return err == nil, err
}

func (p *peer) Extend(ttl time.Duration) (bool, error) {
	err := p.lock.Refresh(context.Background(), ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

func (p *peer) Release() (bool, error) {
	err := p.lock.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}

func main() {
	serve(func(_ string, nodes []string) (Peer, error) {
		return &peer{locks: redislock.New(redis.NewClient(&redis.Options{Addr: nodes[0]}))}, nil
	})
}
