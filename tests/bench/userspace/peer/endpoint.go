package main

import (
	"syscall"
)

type visitor struct {
	received int // of the current request
	wants    byte
}

// serveEndpoint stands for a pod.
func serveEndpoint([]string) error {
	poll, err := newPoller()
	if err != nil {
		return err
	}
	listener, err := newSocket()
	if err != nil {
		return err
	}
	if err := syscall.Bind(listener, place(0)); err != nil {
		return err
	}
	if err := syscall.Listen(listener, 4096); err != nil {
		return err
	}
	bound, err := syscall.Getsockname(listener)
	if err != nil {
		return err
	}
	if err := poll.watch(listener, syscall.EPOLLIN); err != nil {
		return err
	}
	report(map[string]int{"port": bound.(*syscall.SockaddrInet4).Port})
	go untilParentLeaves()

	visitors := map[int]*visitor{}
	zeros := make([]byte, 1<<18)
	for {
		events, err := poll.wait(-1)
		if err != nil {
			return err
		}
		for _, event := range events {
			fd := int(event.Fd)
			if fd == listener {
				acceptAll(listener, poll, visitors)
			} else if !visitors[fd].serve(fd, poll, zeros) {
				delete(visitors, fd)
				syscall.Close(fd)
			}
		}
	}
}

func acceptAll(listener int, poll *poller, visitors map[int]*visitor) {
	for {
		fd, _, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		visitors[fd] = &visitor{}
		if poll.watch(fd, syscall.EPOLLIN) != nil {
			syscall.Close(fd)
		}
	}
}

// serve says whether the connection goes on.
func (v *visitor) serve(fd int, poll *poller, zeros []byte) bool {
	if v.wants == wantStream {
		_, err := syscall.Write(fd, zeros)
		return err == nil || err == syscall.EAGAIN
	}
	var request [requestSize]byte
	n, err := syscall.Read(fd, request[:requestSize-v.received])
	if err == syscall.EAGAIN {
		return true
	}
	if err != nil || n == 0 {
		return false
	}
	if v.received == 0 {
		v.wants = request[0]
	}
	v.received += n
	if v.received < requestSize {
		return true
	}
	v.received = 0
	if v.wants == wantStream {
		return poll.change(fd, syscall.EPOLLOUT) == nil
	}
	_, err = syscall.Write(fd, zeros[:answerSize])
	return err == nil && v.wants == wantAnswer
}
