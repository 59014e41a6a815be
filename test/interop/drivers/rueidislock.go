// rueidislock on one node with a majority of one key, rueidislock:0:NAME. It renews by itself, and cannot be told to.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type peer struct {
	node    string
	lockers map[time.Duration]rueidislock.Locker // the lease is a property of the locker
	release context.CancelFunc
	held    context.Context
}

func (p *peer) locker(ttl time.Duration) (rueidislock.Locker, error) {
	if made := p.lockers[ttl]; made != nil {
		return made, nil
	}
	made, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{p.node}}, KeyMajority: 1, KeyValidity: ttl,
		TryNextAfter: 5 * time.Second, FallbackSETPX: true, // for Redis 6.0
	})
	p.lockers[ttl] = made
	return made, err
}

func (p *peer) Acquire(ttl time.Duration, name string) (bool, error) {
	locker, err := p.locker(ttl)
	if err != nil {
		return false, err
	}
	held, release, err := locker.TryWithContext(context.Background(), name)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return false, nil
	} else if err == nil {
		p.held, p.release = held, release
	}
	return err == nil, err
}

func (p *peer) Extend(time.Duration) (bool, error) {
	return false, errors.New("it renews by itself")
}

func (p *peer) Release() (bool, error) {
	lost := p.held.Err() != nil
	p.release()
	return !lost, nil
}

func main() {
	serve(func(_ string, nodes []string) (Peer, error) {
		return &peer{node: nodes[0], lockers: map[time.Duration]rueidislock.Locker{}}, nil
	})
}
