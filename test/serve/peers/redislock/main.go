// bsm/redislock through the RESP port; what the words mean is in ../run.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func say(good bool, yes, no string) {
	if good {
		fmt.Println(yes)
	} else {
		fmt.Println(no)
	}
}

func main() {
	ctx := context.Background()
	locker := redislock.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]}))
	lock, err := locker.Obtain(ctx, "peer", 20*time.Second, &redislock.Options{Metadata: "peer"})
	say(err == nil, "held", "refused")
	_, err = locker.Obtain(ctx, "peer", 20*time.Second, nil)
	say(err == nil, "held", "refused")
	left, err := lock.TTL(ctx)
	say(lock.Refresh(ctx, 20*time.Second, nil) == nil && err == nil && left > 0, "extended", "lost")
	bufio.NewReader(os.Stdin).ReadString('\n')
	say(lock.Release(ctx) == nil, "released", "lost")
}
