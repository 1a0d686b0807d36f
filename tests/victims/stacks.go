// Go's stacks grow and move: stacks [CALLS]. Every round calls `main.small` and `main.grow`, whose
// frame is larger than a fresh goroutine's stack, on CALLS fresh goroutines, and `main.deep`
// recursively, so that the stack is copied under its frames. Speaks as victim.h has it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

//go:noinline
func small(i int) int {
	if i < 0 {
		panic(i)
	}
	return i + 1
}

//go:noinline
func grow(i int) int {
	var room [16384]byte
	room[i%len(room)] = byte(i)
	return small(i) + int(room[(i+1)%len(room)])
}

//go:noinline
func deep(n, i int) int {
	var room [256]byte
	room[i%len(room)] = 1
	if n > 1 {
		return deep(n-1, i) + int(room[i%len(room)])
	}
	return grow(i)
}

func round(calls, at_once int) int {
	results := make(chan int, at_once)
	sum := 0
	for done := 0; done < calls; done += at_once {
		for k := 0; k < at_once; k++ {
			go func(i int) { results <- deep(4, i) }(done + k)
		}
		for k := 0; k < at_once; k++ {
			sum += <-results
		}
	}
	return sum % 1000003
}

func main() {
	calls := 10000
	if len(os.Args) > 1 {
		calls, _ = strconv.Atoi(os.Args[1])
	}
	const at_once = 10
	calls = calls / at_once * at_once
	fmt.Printf("ready %d\n", os.Getpid())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		sum := round(calls, at_once)
		fmt.Printf("{\"calls\":{\"main.small\":%d,\"main.grow\":%d,\"main.deep\":%d},"+
			"\"returned\":{\"main.small\":%d,\"main.grow\":%d,\"main.deep\":%d},"+
			"\"result\":%d}\n",
			calls, calls, 4*calls, calls, calls, 4*calls, sum)
	}
}
