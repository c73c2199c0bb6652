// Command first is the first client of the README: it asks a running service
// about one lead.
package main

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func main() {
	conn, err := grpc.NewClient("127.0.0.1:8471", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	answer, err := enrichv1.NewEnrichServiceClient(conn).Enrich(context.Background(), &enrichv1.EnrichRequest{
		Subject: &enrichv1.EnrichRequest_Email{Email: "mara.lindqvist@northwind.example"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.GetOutcome(), answer.GetPerson().GetTitle(), answer.GetCompany().GetName())
}
