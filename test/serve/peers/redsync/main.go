// redsync through the RESP port; what the words mean is in ../run.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
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
	shared := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})))
	mutex := shared.NewMutex("peer", redsync.WithExpiry(20*time.Second), redsync.WithTries(1))
	say(mutex.Lock() == nil, "held", "refused")
	say(shared.NewMutex("peer", redsync.WithTries(1)).Lock() == nil, "held", "refused")
	extended, err := mutex.Extend()
	say(extended && err == nil, "extended", "lost")
	bufio.NewReader(os.Stdin).ReadString('\n')
	released, err := mutex.Unlock()
	say(released && err == nil, "released", "lost")
}
