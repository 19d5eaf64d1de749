// A KPNG peer in Go, on the versions of gRPC and protobuf that KPNG itself used last: "watch" is a client, "serve" a
// server that sends what it is told to.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"fairlead.test/kpng-interop/globalv1"
	"fairlead.test/kpng-interop/localv1"
)

func main() {
	var err error
	switch os.Args[1] {
	case "watch":
		err = watch(context.Background(), os.Args[2], os.Args[3])
	case "watch-with-causes":
		// As no program in Go does: it asks for a field that its messages do not have.
		asking := metadata.AppendToOutgoingContext(context.Background(), "fairlead-causes", "true")
		err = watch(asking, os.Args[2], os.Args[3])
	case "watch-global":
		err = watchGlobal(os.Args[2])
	case "serve":
		err = serve(os.Args[2])
	default:
		err = fmt.Errorf("unknown command %s", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type receiver interface {
	Recv() (*localv1.OpItem, error)
}

// Asks once for each line on stdin.
func ask(send func() error, from receiver) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := send(); err != nil {
			return err
		}
		for {
			item, err := from.Recv()
			if err != nil {
				return err
			}
			fmt.Println(describe(item))
			if _, isSync := item.Op.(*localv1.OpItem_Sync); isSync {
				break
			}
		}
	}
	return nil
}

func watch(ctx context.Context, address, node string) error {
	conn, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	stream, err := localv1.NewSetsClient(conn).Watch(ctx)
	if err != nil {
		return err
	}
	return ask(func() error { return stream.Send(&localv1.WatchReq{NodeName: node}) }, stream)
}

func watchGlobal(address string) error {
	conn, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	stream, err := globalv1.NewSetsClient(conn).Watch(context.Background())
	if err != nil {
		return err
	}
	return ask(func() error { return stream.Send(&globalv1.GlobalWatchReq{}) }, stream)
}

// What was received, with the payload as Go itself would write it.
func describe(item *localv1.OpItem) string {
	switch op := item.Op.(type) {
	case *localv1.OpItem_Sync:
		if unknown := op.Sync.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			return "sync+unknown"
		}
		return "sync"
	case *localv1.OpItem_Reset_:
		return "reset"
	case *localv1.OpItem_Delete:
		return fmt.Sprintf("- %d %s", op.Delete.Set, op.Delete.Path)
	case *localv1.OpItem_Set:
		message := emptyOf(op.Set.Ref.Set)
		if err := proto.Unmarshal(op.Set.Bytes, message); err != nil {
			return "undecodable: " + err.Error()
		}
		again, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		return fmt.Sprintf("+ %d %s %x %x", op.Set.Ref.Set, op.Set.Ref.Path, op.Set.Bytes, again)
	default:
		return "nothing"
	}
}

func emptyOf(set localv1.Set) proto.Message {
	switch set {
	case localv1.Set_ServicesSet:
		return &localv1.Service{}
	case localv1.Set_EndpointsSet:
		return &localv1.Endpoint{}
	case localv1.Set_GlobalServiceInfos:
		return &globalv1.ServiceInfo{}
	case localv1.Set_GlobalEndpointInfos:
		return &globalv1.EndpointInfo{}
	default:
		return &globalv1.NodeInfo{}
	}
}

type server struct {
	localv1.UnimplementedSetsServer
	script chan []string
}

// Sends one change set of the script for each request. "end" ends the stream in good order.
func (s *server) Watch(stream localv1.Sets_WatchServer) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		fmt.Println("asked for " + request.NodeName)
		for _, line := range <-s.script {
			if line == "end" {
				return nil
			}
			if err := stream.Send(operation(line)); err != nil {
				return err
			}
		}
	}
}

func serve(address string) error {
	network, rest, _ := strings.Cut(address, "://")
	listener, err := net.Listen(network, rest)
	if err != nil {
		return err
	}
	s := &server{script: make(chan []string, 100)}
	g := grpc.NewServer()
	localv1.RegisterSetsServer(g, s)
	go func() {
		// Each line is one change set: a list of operations.
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var operations []string
			if err := json.Unmarshal(lines.Bytes(), &operations); err != nil {
				panic(err)
			}
			s.script <- operations
		}
		os.Exit(0)
	}()
	fmt.Printf("listening on %s\n", listener.Addr())
	return g.Serve(listener)
}

// "reset", "sync", "- 1 ns/name", "+ 1 ns/name port", "+ 2 ns/name/key address".
func operation(line string) *localv1.OpItem {
	words := strings.Fields(line)
	switch words[0] {
	case "reset":
		return &localv1.OpItem{Op: &localv1.OpItem_Reset_{Reset_: &localv1.EmptyOp{}}}
	case "sync":
		return &localv1.OpItem{Op: &localv1.OpItem_Sync{Sync: &localv1.EmptyOp{}}}
	case "-":
		return &localv1.OpItem{Op: &localv1.OpItem_Delete{Delete: ref(words)}}
	case "+":
		bytes, err := proto.Marshal(value(words))
		if err != nil {
			panic(err)
		}
		return &localv1.OpItem{Op: &localv1.OpItem_Set{Set: &localv1.Value{Ref: ref(words), Bytes: bytes}}}
	default:
		return &localv1.OpItem{}
	}
}

func ref(words []string) *localv1.Ref {
	set := localv1.Set_EndpointsSet
	switch words[1] {
	case "1":
		set = localv1.Set_ServicesSet
	case "99":
		set = localv1.Set(99)
	}
	return &localv1.Ref{Set: set, Path: words[2]}
}

func value(words []string) proto.Message {
	if words[1] == "1" {
		var port int32
		fmt.Sscan(words[3], &port)
		namespace, name, _ := strings.Cut(words[2], "/")
		return &localv1.Service{
			Namespace: namespace,
			Name:      name,
			Type:      "ClusterIP",
			IPs: &localv1.ServiceIPs{
				ClusterIPs:  &localv1.IPSet{V4: []string{"10.96.0.10"}},
				ExternalIPs: &localv1.IPSet{},
			},
			Labels: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"},
			Ports:  []*localv1.PortMapping{{Name: "http", Protocol: localv1.Protocol_TCP, Port: port, TargetPort: 8080}},
		}
	}
	return &localv1.Endpoint{
		IPs:           &localv1.IPSet{V4: []string{words[3]}},
		PortOverrides: []*localv1.PortName{{Name: "http", Port: 8080}},
		Scopes:        &localv1.EndpointScopes{Internal: true, External: true},
	}
}
