// The part of every Go driver that does not depend on the library: clients, phases, latencies, figures. The workloads are
// those of bench/bench.h.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Acquire takes the lock of a name, waiting as the library does by itself. ok is false when it gave up.
type Acquire func(name string) (release func(), ok bool)

type client struct {
	waits  []int64 // nanoseconds
	cutOff int
	errors int
}

func (c *client) work(acquire Acquire, name string, contend bool, until time.Time) {
	asked := time.Now()
	for time.Now().Before(until) {
		release, ok := acquire(name)
		if ok {
			c.waits = append(c.waits, time.Since(asked).Nanoseconds())
			release()
		} else {
			c.errors++
			if contend {
				continue // it still wants the lock
			}
		}
		asked = time.Now()
	}
	if contend {
		c.waits = append(c.waits, time.Since(asked).Nanoseconds())
		c.cutOff++
	}
}

func pass(acquires []Acquire, contend bool, seconds float64) []client {
	clients := make([]client, len(acquires))
	until := time.Now().Add(time.Duration(seconds * 1e9))
	var group sync.WaitGroup
	for i := range clients {
		name := "bench:00000000"
		if !contend {
			name = fmt.Sprintf("bench:%08d", i)
		}
		group.Add(1)
		go func(i int, name string) {
			defer group.Done()
			clients[i].work(acquires[i], name, contend, until)
		}(i, name)
	}
	group.Wait()
	return clients
}

func figures(clients []client, elapsed float64) map[string]float64 {
	var all []int64
	least, most, pairs, errors := -1, 0, 0, 0
	for _, c := range clients {
		count := len(c.waits) - c.cutOff
		all = append(all, c.waits...)
		pairs += count
		errors += c.errors
		if least < 0 || count < least {
			least = count
		}
		if count > most {
			most = count
		}
	}
	made := map[string]float64{"pairs": float64(pairs), "pairs_per_s": float64(pairs) / elapsed, "seconds": elapsed,
		"least": float64(least), "most": float64(most), "errors": float64(errors)}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	for key, share := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		if len(all) > 0 {
			made["acquire_"+key+"_us"] = float64(all[int(share*float64(len(all)-1))]) / 1e3
		}
	}
	return made
}

// drive reads NODES WORKLOAD CLIENTS SECONDS from the command line and runs the phases. open is called once for each client,
// with the nodes.
func drive(open func(nodes []string) Acquire) {
	nodes := strings.Split(os.Args[1], ",")
	contend := os.Args[2] == "contend"
	count, _ := strconv.Atoi(os.Args[3])
	seconds, _ := strconv.ParseFloat(os.Args[4], 64)
	acquires := make([]Acquire, count)
	for i := range acquires {
		acquires[i] = open(nodes)
	}
	pass(acquires, contend, 0.3)
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	started := time.Now()
	clients := pass(acquires, contend, seconds)
	line, _ := json.Marshal(figures(clients, time.Since(started).Seconds()))
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
