// Functions of a Go program, as calls.h has them for C; one thread.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

//go:noinline
func deep(i int) int {
	var room [256]byte
	room[i&255] = byte(i)
	return int(room[(i+1)&255])
}

//go:noinline
func go_0(i int) int { return deep(i) }

//go:noinline
func go_1(i int) int { return deep(i) + 1 }

//go:noinline
func go_2(i int) int { return deep(i) + 2 }

//go:noinline
func go_3(i int) int { return deep(i) + 3 }

var copies = []func(int) int{go_0, go_1, go_2, go_3}

const threadCPUTime = 3 // CLOCK_THREAD_CPUTIME_ID

func now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func main() {
	runtime.LockOSThread()
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for lines.Scan() {
		var kind string
		var copy, calls, threads int
		fmt.Sscan(lines.Text(), &kind, &copy, &calls, &threads)
		f := copies[copy]
		begin := now()
		for i := 0; i < calls; i++ {
			f(i)
		}
		fmt.Printf("%.2f\n", float64(now()-begin)/float64(calls))
	}
}
