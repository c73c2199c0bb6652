package drive

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// longestAnswer is the most that is read of one answer.
const longestAnswer = 8 << 20

// restDriver asks with JSON over kept connections.
type restDriver struct {
	client  *http.Client
	address string
	host    string // that requests name; empty: the address
	key     string
}

func newREST(service Service) (*restDriver, error) {
	d := &restDriver{client: NewClient(service.TLS), address: "http://" + service.REST + "/v1/enrich", key: service.Key}
	if service.TLS == nil {
		return d, nil
	}
	_, port, err := net.SplitHostPort(service.REST)
	if err != nil {
		return nil, err
	}
	// Who serves several hosts at an address wants the one of the certificate.
	d.address, d.host = "https://"+service.REST+"/v1/enrich", net.JoinHostPort(service.TLS.ServerName, port)
	return d, nil
}

// NewClient returns a client that asks whom it is told to ask and nobody else. A
// redirect, or a proxy of the environment, would bring leads and keys to where
// nobody allowed the load to go. config is for https.
func NewClient(config *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256, TLSClientConfig: config},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (d *restDriver) Ask(ctx context.Context, questions []Question, answered func(int, Answer)) {
	for i, question := range questions {
		answered(i, d.one(ctx, question))
	}
}

func (d *restDriver) one(ctx context.Context, question Question) Answer {
	body, err := protojson.Marshal(question.message())
	if err != nil {
		return Answer{Code: codes.Internal.String()}
	}
	status, text, err := d.post(ctx, body)
	if err != nil {
		return Answer{Code: codes.Unavailable.String()}
	}
	if status != http.StatusOK {
		return Answer{Code: restCode(text)}
	}
	var response enrichv1.EnrichResponse
	if err := protojson.Unmarshal(text, &response); err != nil {
		return Answer{Code: codes.DataLoss.String()}
	}
	return read(&response)
}

// post sends one body and returns the answer as it is.
func (d *restDriver) post(ctx context.Context, body []byte) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Host = d.host
	request.Header.Set("Content-Type", "application/json")
	if d.key != "" {
		request.Header.Set("Authorization", "Bearer "+d.key)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	return response.StatusCode, text, err
}

// restCode is the gRPC code that an error's body names.
func restCode(text []byte) string {
	var failure struct {
		Code uint32 `json:"code"`
	}
	if err := json.Unmarshal(text, &failure); err != nil || failure.Code == 0 {
		return codes.Unknown.String()
	}
	return codes.Code(failure.Code).String()
}

func (d *restDriver) Close() error {
	d.client.CloseIdleConnections()
	return nil
}
