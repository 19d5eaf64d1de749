// Clients and servers of HTTP as Go writes them, each client with one connection that it keeps.
//
//	program serve COUNT             servers on loopback, HTTP/1.1 and HTTP/2 without TLS; prints their ports
//	program ask http1|http2 ADDRESS COUNT THINK   clients, until standard input ends; then prints what they met
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	switch os.Args[1] {
	case "serve":
		serve(number(os.Args[2]))
	case "ask":
		ask(os.Args[2] == "http2", os.Args[3], number(os.Args[4]), os.Args[5])
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func bothProtocols() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// Each answer takes a moment, so that a request that is under way is there to be broken.
func answer(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	time.Sleep(5 * time.Millisecond)
	fmt.Fprintf(writer, "%s %s %d", request.Proto, request.Method, len(body))
}

func serve(count int) {
	ports := make([]int, count)
	for index := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		ports[index] = listener.Addr().(*net.TCPAddr).Port
		server := &http.Server{Handler: http.HandlerFunc(answer), Protocols: bothProtocols()}
		go server.Serve(listener)
	}
	check(json.NewEncoder(os.Stdout).Encode(ports))
	io.Copy(io.Discard, os.Stdin)
}

type result struct {
	Requests    int      `json:"requests"`
	Connections int      `json:"connections"`
	Failures    []string `json:"failures"`
}

type client struct {
	http        *http.Client
	address     string
	isHTTP2     bool
	connections int
}

func newClient(isHTTP2 bool, address string) *client {
	one := &client{address: address, isHTTP2: isHTTP2}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!isHTTP2)
	protocols.SetUnencryptedHTTP2(isHTTP2)
	one.http = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		Protocols:       protocols,
		MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			one.connections++
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	return one
}

// A request that Go cannot send again by itself: a POST whose body it can read only once.
func (one *client) ask(number int) error {
	body := io.NopCloser(strings.NewReader("work"))
	request, err := http.NewRequest("POST", fmt.Sprintf("http://%s/%d", one.address, number), body)
	check(err)
	request.ContentLength = 4
	response, err := one.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	wanted := "HTTP/1.1 POST 4"
	if one.isHTTP2 {
		wanted = "HTTP/2.0 POST 4"
	}
	if string(text) != wanted {
		return fmt.Errorf("a wrong answer: %q", text)
	}
	return nil
}

func ask(isHTTP2 bool, address string, count int, think string) {
	pause, err := time.ParseDuration(think)
	check(err)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var lock sync.Mutex
	sum := result{Failures: []string{}}
	for range count {
		one := newClient(isHTTP2, address)
		all.Go(func() {
			for number := 0; ; number++ {
				err := one.ask(number)
				lock.Lock()
				sum.Requests++
				if err != nil {
					sum.Failures = append(sum.Failures, err.Error())
				}
				lock.Unlock()
				if number == 0 {
					fmt.Println("connected")
				}
				select {
				case <-stop:
					lock.Lock()
					sum.Connections += one.connections
					lock.Unlock()
					return
				case <-time.After(pause):
				}
			}
		})
	}
	bufio.NewReader(os.Stdin).ReadString('\n')
	close(stop)
	all.Wait()
	check(json.NewEncoder(os.Stdout).Encode(sum))
}
