package server

import (
	"errors"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// notSpooled is the error of a file that cannot be put aside.
func notSpooled(cause error) error {
	return &enrich.Error{Kind: enrich.Unavailable, Reason: "spool", Offset: -1, Message: "the file cannot be put aside at the moment", Cause: cause}
}

// uploading is an import that comes in parts.
type uploading = grpc.ClientStreamingServer[enrichv1.UploadImportRequest, enrichv1.Import]

// UploadImport reads a file that comes in parts.
func (l *leadService) UploadImport(stream uploading) error {
	imported, err := l.server.upload(stream)
	var own *refusal
	switch {
	case errors.As(err, &own): // which REST alone says better
		return l.server.statusOf(stream.Context(), own.problem)
	case err != nil:
		return l.server.leadStatus(stream.Context(), err)
	}
	return stream.SendAndClose(imported)
}

var errImportAgain = &enrich.Error{Kind: enrich.Invalid, Field: "import", Reason: "repeated", Offset: -1, Message: "import: stands in the first message alone"}

var errNoImport = &enrich.Error{Kind: enrich.Invalid, Field: "import", Reason: "required", Offset: -1, Message: "import: says in the first message how the file is read"}

func (s *Server) upload(stream uploading) (*enrichv1.Import, error) {
	ctx, call := stream.Context(), callOf(stream.Context())
	first, err := s.nextPart(stream, call)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	message := first.GetImport()
	if message == nil {
		return nil, errNoImport
	}
	return withLeads(ctx, s, message, func(leads *Leads) (*enrichv1.Import, error) {
		file, err := s.gather(stream, call, first, leads.MaxImportBytes)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return leads.read(ctx, call.caller.Account, message, file)
	})
}

// nextPart receives a message, which has the body timeout to come. The error is
// io.EOF after the last.
func (s *Server) nextPart(stream uploading, call *call) (*enrichv1.UploadImportRequest, error) {
	late := time.AfterFunc(s.config.BodyTimeout, call.arriving.cancel)
	part, err := stream.Recv()
	if !late.Stop() {
		return nil, brokenFile(os.ErrDeadlineExceeded)
	}
	return part, err
}

// gather puts the parts of a file aside.
func (s *Server) gather(stream uploading, call *call, part *enrichv1.UploadImportRequest, most int64) (_ *intake.Spool, err error) {
	file, err := intake.NewSpool()
	if err != nil {
		return nil, notSpooled(err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	for written := int64(0); ; {
		for _, content := range [][]byte{part.GetImport().GetContent(), part.GetContent()} {
			if written += int64(len(content)); written > most {
				return nil, tooLong(most)
			}
			if _, err := file.Write(content); err != nil {
				return nil, notSpooled(err)
			}
		}
		part, err = s.nextPart(stream, call)
		if errors.Is(err, io.EOF) {
			return file.Rewound()
		} else if err != nil {
			return nil, err
		} else if part.GetImport() != nil {
			return nil, errImportAgain
		}
	}
}
