package floor

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// ServeExchange is a gRPC server that does with the service's libraries what a miss
// cannot do without: it reads Redis, calls the vendor, decodes what it says, writes
// Redis and answers. It promises nothing: it counts no quota, keeps no two replicas
// from paying twice, maps no attribute and tells nobody what it does.
func ServeExchange(ctx context.Context, redisAddress, vendor string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 512
	known := redis.NewClient(&redis.Options{Addr: redisAddress, PoolSize: 64})
	defer known.Close()
	server := grpc.NewServer()
	enrichv1.RegisterEnrichServiceServer(server, &exchange{known: known, client: &http.Client{Transport: transport}, vendor: vendor})
	context.AfterFunc(ctx, server.Stop)
	say(listener.Addr().String(), "")
	return server.Serve(listener)
}

type exchange struct {
	enrichv1.UnimplementedEnrichServiceServer
	known  *redis.Client
	client *http.Client
	vendor string
}

const exchangeStays = time.Hour

func (e *exchange) Enrich(ctx context.Context, request *enrichv1.EnrichRequest) (*enrichv1.EnrichResponse, error) {
	key := exchangeKey(request)
	if err := e.known.Get(ctx, key).Err(); !errors.Is(err, redis.Nil) {
		return nil, errors.Join(err, errors.New("the lead is known"))
	}
	said, err := e.ask(ctx, request)
	if err != nil {
		return nil, err
	}
	if err := e.known.Set(ctx, key, said, exchangeStays).Err(); err != nil {
		return nil, err
	}
	return exchanged(said), nil
}

func (e *exchange) BatchEnrich(ctx context.Context, request *enrichv1.BatchEnrichRequest) (*enrichv1.BatchEnrichResponse, error) {
	keys := make([]string, len(request.GetRequests()))
	for i, one := range request.GetRequests() {
		keys[i] = exchangeKey(one)
	}
	if err := e.known.MGet(ctx, keys...).Err(); err != nil {
		return nil, err
	}
	said, failures := make([][]byte, len(keys)), make([]error, len(keys))
	var asking sync.WaitGroup
	for i, one := range request.GetRequests() {
		asking.Go(func() { said[i], failures[i] = e.ask(ctx, one) })
	}
	asking.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	answer := &enrichv1.BatchEnrichResponse{}
	_, err := e.known.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			pipe.Set(ctx, key, said[i], exchangeStays)
			answer.Results = append(answer.Results, &enrichv1.EnrichResult{Result: &enrichv1.EnrichResult_Response{Response: exchanged(said[i])}})
		}
		return nil
	})
	return answer, err
}

// ask calls the vendor and decodes what it says.
func (e *exchange) ask(ctx context.Context, request *enrichv1.EnrichRequest) ([]byte, error) {
	said, err := call(ctx, e.client, e.vendor+"/v5/person/enrich?email="+url.QueryEscape(request.GetEmail()))
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	return said, json.Unmarshal(said, &decoded)
}

func exchangeKey(request *enrichv1.EnrichRequest) string { return "floor:" + request.GetEmail() }

// exchanged answers with what the vendor said as it came.
func exchanged(said []byte) *enrichv1.EnrichResponse {
	return &enrichv1.EnrichResponse{Person: &enrichv1.Person{FullName: proto.String(string(said))}}
}
