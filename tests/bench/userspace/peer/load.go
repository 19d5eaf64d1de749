package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"
)

// outcome is what a client saw. Counts are per second, times in microseconds.
type outcome struct {
	BytesPerSecond    float64 `json:"bytesPerSecond"`
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	P50Us             float64 `json:"p50Us"`
	P99Us             float64 `json:"p99Us"`
	Failures          int     `json:"failures"`
}

type caller struct {
	received int
	askedAt  time.Time
}

type loader struct {
	poll        *poller
	port        int
	wants       byte
	asksOnce    bool
	callers     map[int]*caller
	measureFrom time.Time
	bytes       int
	tookUs      []float64
	failures    int
}

// The first part of a run warms up buffers, windows and compilers; it does not count.
const warmUpShare = 0.3

// load <port> <stream|connect|request|idle> <connections> <milliseconds>
func load(args []string) error {
	port, _ := strconv.Atoi(args[0])
	connections, _ := strconv.Atoi(args[2])
	milliseconds, _ := strconv.Atoi(args[3])
	kinds := map[string]byte{"stream": wantStream, "connect": wantClose, "request": wantAnswer, "idle": wantAnswer}
	poll, err := newPoller()
	if err != nil {
		return err
	}
	l := &loader{poll: poll, port: port, wants: kinds[args[1]], callers: map[int]*caller{}}
	if args[1] == "idle" {
		return l.idle(connections)
	}
	for range connections {
		if err := l.open(); err != nil {
			return err
		}
	}
	start := time.Now()
	l.measureFrom = start.Add(time.Duration(float64(milliseconds)*warmUpShare) * time.Millisecond)
	end := start.Add(time.Duration(milliseconds) * time.Millisecond)
	for time.Now().Before(end) {
		if err := l.turn(100); err != nil {
			return err
		}
	}
	seconds := time.Since(l.measureFrom).Seconds()
	sort.Float64s(l.tookUs)
	report(outcome{
		BytesPerSecond:    float64(l.bytes) / seconds,
		RequestsPerSecond: float64(len(l.tookUs)) / seconds,
		P50Us:             quantile(l.tookUs, 0.5),
		P99Us:             quantile(l.tookUs, 0.99),
		Failures:          l.failures,
	})
	return nil
}

// idle opens connections in small groups, has each answer once, and keeps them until a line comes in.
func (l *loader) idle(connections int) error {
	l.measureFrom, l.asksOnce = time.Now(), true
	for opened := 0; opened < connections; {
		for range min(100, connections-opened) {
			if err := l.open(); err != nil {
				return err
			}
			opened++
		}
		// An answer shows that the relay has joined both sides.
		for len(l.tookUs)+l.failures < opened {
			if err := l.turn(5000); err != nil {
				return err
			}
		}
	}
	report(map[string]int{"open": len(l.callers), "failures": l.failures})
	bufio.NewReader(os.Stdin).ReadString('\n')
	return nil
}

func (l *loader) turn(milliseconds int) error {
	events, err := l.poll.wait(milliseconds)
	for _, event := range events {
		l.serve(int(event.Fd), event.Events)
	}
	return err
}

func (l *loader) open() error {
	fd, err := newSocket()
	if err != nil {
		return err
	}
	if err := syscall.Connect(fd, place(l.port)); err != nil && err != syscall.EINPROGRESS {
		return fmt.Errorf("cannot connect to port %d: %w", l.port, err)
	}
	l.callers[fd] = &caller{askedAt: time.Now()}
	return l.poll.watch(fd, syscall.EPOLLOUT)
}

func (l *loader) serve(fd int, events uint32) {
	c := l.callers[fd]
	if events&syscall.EPOLLOUT != 0 && events&syscall.EPOLLERR == 0 {
		l.ask(fd)
		l.poll.change(fd, syscall.EPOLLIN)
		return
	}
	var buffer [1 << 16]byte
	n, err := l.receive(fd, buffer[:])
	if err == syscall.EAGAIN {
		return
	}
	if err != nil || n == 0 {
		l.ended(fd, c, err)
		return
	}
	now := time.Now()
	if now.After(l.measureFrom) {
		l.bytes += n
	}
	c.received += n
	if l.wants != wantAnswer || c.received < answerSize {
		return
	}
	l.answered(c, now)
	c.received, c.askedAt = 0, now
	if !l.asksOnce {
		l.ask(fd)
	}
}

// receive lets the kernel throw streams away: the client must not be what limits them.
func (l *loader) receive(fd int, buffer []byte) (int, error) {
	if l.wants != wantStream {
		return syscall.Read(fd, buffer)
	}
	n, _, errno := syscall.Syscall6(syscall.SYS_RECVFROM, uintptr(fd), 0, 1<<22, syscall.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (l *loader) ask(fd int) {
	var request [requestSize]byte
	request[0] = l.wants
	syscall.Write(fd, request[:])
}

func (l *loader) answered(c *caller, now time.Time) {
	if now.After(l.measureFrom) {
		l.tookUs = append(l.tookUs, float64(now.Sub(c.askedAt).Nanoseconds())/1000)
	}
}

func (l *loader) ended(fd int, c *caller, err error) {
	if l.wants == wantClose && err == nil && c.received == answerSize {
		l.answered(c, time.Now())
	} else {
		l.failures++
	}
	delete(l.callers, fd)
	syscall.Close(fd)
	if l.wants == wantClose {
		if err := l.open(); err != nil {
			fail(err)
		}
	}
}

func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(share*float64(len(sorted)-1))]
}
