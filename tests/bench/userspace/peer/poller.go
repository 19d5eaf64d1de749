package main

import (
	"net/netip"
	"os"
	"runtime"
	"syscall"
)

// poller waits for sockets in one thread: a goroutine per connection would cost more than the relay under test.
type poller struct {
	epoll  int
	events [512]syscall.EpollEvent
}

func newPoller() (*poller, error) {
	runtime.LockOSThread()
	epoll, err := syscall.EpollCreate1(0)
	return &poller{epoll: epoll}, err
}

func (p *poller) watch(fd int, events uint32) error {
	return syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events, Fd: int32(fd)})
}

func (p *poller) change(fd int, events uint32) error {
	return syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_MOD, fd, &syscall.EpollEvent{Events: events, Fd: int32(fd)})
}

// wait returns what is ready after at most so many milliseconds; -1 waits for ever.
func (p *poller) wait(milliseconds int) ([]syscall.EpollEvent, error) {
	n, err := syscall.EpollWait(p.epoll, p.events[:], milliseconds)
	if err == syscall.EINTR {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.events[:n], nil
}

func newSocket() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	return fd, syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
}

// Where endpoints listen and clients connect: on loopback, unless BENCH_IP says otherwise.
func place(port int) *syscall.SockaddrInet4 {
	ip, err := netip.ParseAddr(os.Getenv("BENCH_IP"))
	if err != nil {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return &syscall.SockaddrInet4{Port: port, Addr: ip.As4()}
}
