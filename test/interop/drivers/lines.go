// The part of every Go driver that does not depend on the library: it reads commands, one a line, and answers each with
// one line. README.md of test/interop/drivers lists them.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"
)

const countingTTL = 60 * time.Second

// Peer is the library: each call tells whether it worked. An error is something unforeseen.
type Peer interface {
	Acquire(ttl time.Duration, name string) (bool, error)
	Extend(ttl time.Duration) (bool, error)
	Release() (bool, error)
}

// take waits for a lock by asking again.
func take(peer Peer, name string) error {
	for {
		held, err := peer.Acquire(countingTTL, name)
		if held || err != nil {
			return err
		}
		time.Sleep(time.Duration(2+rand.Intn(18)) * time.Millisecond)
	}
}

func addOne(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(number+1)), 0o600)
}

// add adds to the number in a file, under the lock.
func add(peer Peer, times int, name, path string) error {
	for i := 0; i < times; i++ {
		if err := take(peer, name); err != nil {
			return err
		}
		if err := addOne(path); err != nil {
			return err
		}
		if _, err := peer.Release(); err != nil {
			return err
		}
	}
	return nil
}

func answer(peer Peer, words []string) string {
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	ttl := time.Duration(number) * time.Millisecond
	var done bool
	var err error
	yes, no := "", "lost"
	switch words[0] {
	case "acquire":
		yes, no = "held", "refused"
		done, err = peer.Acquire(ttl, words[2])
	case "extend":
		yes = "extended"
		done, err = peer.Extend(ttl)
	case "release":
		yes = "released"
		done, err = peer.Release()
	case "add":
		yes, done = "added", true
		err = add(peer, number, words[2], words[3])
	default:
		err = fmt.Errorf("unknown command %s", words[0])
	}
	if err != nil {
		return "failed: " + strings.ReplaceAll(err.Error(), "\n", " ")
	} else if done {
		return yes
	}
	return no
}

// serve gives the kind and the nodes of the command line to open, and does as stdin says.
func serve(open func(kind string, nodes []string) (Peer, error)) {
	peer, err := open(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(answer(peer, strings.Fields(lines.Text())))
	}
}
