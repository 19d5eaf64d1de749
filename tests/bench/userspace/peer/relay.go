package main

import (
	"io"
	"net"
	"time"
)

// serveRelay carries connections to one endpoint the way a Go proxy does: io.Copy, which splices on Linux.
func serveRelay(args []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	report(map[string]int{"port": listener.Addr().(*net.TCPAddr).Port})
	go untilParentLeaves()
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go relay(client.(*net.TCPConn), args[0])
	}
}

func relay(client *net.TCPConn, endpoint string) {
	defer client.Close()
	dialled, err := net.DialTimeout("tcp", endpoint, time.Second)
	if err != nil {
		return
	}
	backend := dialled.(*net.TCPConn)
	defer backend.Close()
	done := make(chan struct{})
	go func() {
		io.Copy(backend, client)
		backend.CloseWrite()
		close(done)
	}()
	io.Copy(client, backend)
	client.CloseWrite()
	<-done
}
