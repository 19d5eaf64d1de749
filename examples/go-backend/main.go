// A backend in Go: keeps the state of a node in memory and prints it after each change.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"example.org/go-backend/localv1"
)

func main() {
	api, node := os.Args[1], os.Args[2]
	conn, err := grpc.Dial(api, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	for {
		// What was programmed stays while the core is away.
		log.Print(follow(conn, node))
		time.Sleep(time.Second)
	}
}

func follow(conn *grpc.ClientConn, node string) error {
	stream, err := localv1.NewSetsClient(conn).Watch(context.Background())
	if err != nil {
		return err
	}
	state := map[string]proto.Message{} // a new stream tells everything anew
	for {
		// Each request buys one change set.
		if err := stream.Send(&localv1.WatchReq{NodeName: node}); err != nil {
			return err
		}
		for isComplete := false; !isComplete; {
			item, err := stream.Recv()
			if err != nil {
				return err
			}
			switch op := item.Op.(type) {
			case *localv1.OpItem_Set:
				var message proto.Message = &localv1.Service{}
				if op.Set.Ref.Set == localv1.Set_EndpointsSet {
					message = &localv1.Endpoint{}
				}
				if err := proto.Unmarshal(op.Set.Bytes, message); err != nil {
					return err
				}
				state[op.Set.Ref.Path] = message
			case *localv1.OpItem_Delete:
				delete(state, op.Delete.Path)
			case *localv1.OpItem_Sync:
				isComplete = true
			}
		}
		show(state)
	}
}

// Here a real backend would program its data plane.
func show(state map[string]proto.Message) {
	paths := make([]string, 0, len(state))
	for path := range state {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		switch message := state[path].(type) {
		case *localv1.Service:
			fmt.Println("service", path, message.Type, message.IPs.ClusterIPs.GetV4())
		case *localv1.Endpoint:
			fmt.Println("endpoint", path, message.IPs.GetV4(), "local:", message.Local)
		}
	}
	fmt.Println("---")
}
