package cache

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/enrichd/enrichd/enrich"
)

func TestSealedEntrySurvives(t *testing.T) {
	for name, record := range map[string]enrich.Record{
		"plain":      enrich.NewRecord(titleBy("alpha", now())),
		"compressed": wideRecord(now()),
	} {
		t.Run(name, func(t *testing.T) {
			subject := newTag()
			e := mustEntry(t, subject, now().Add(time.Hour), record.Facts()...)
			e.version = 77
			sealed := e.seal(nil)
			if compressed := sealed[7]&flagCompressed != 0; compressed != (len(e.payload) > compressAbove) {
				t.Errorf("a payload of %d bytes: compressed is %v", len(e.payload), compressed)
			}
			opened, err := unseal(sealed, subject, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if opened.version != 77 || !opened.until.Equal(e.until) || opened.tag != subject {
				t.Errorf("got version %d until %v", opened.version, opened.until)
			}
			wantSame(t, mustRecord(t, opened), record)
		})
	}
}

func TestUnsealRefuses(t *testing.T) {
	subject := newTag()
	sealed := mustEntry(t, subject, now().Add(time.Hour), titleBy("alpha", now())).seal(nil)
	change := func(change func(b []byte) []byte) []byte { return change([]byte(string(sealed))) }
	bomb := func() []byte {
		e := &entry{tag: subject, until: now().Add(time.Hour), payload: strings.Repeat("x", maxPayload)}
		sealed := e.seal(nil)
		body := s2.Encode(nil, make([]byte, 64<<20))
		sealed = append(sealed[:headerSize], body...)
		binary.BigEndian.PutUint32(sealed[28:], checksum(sealed))
		return sealed
	}
	for name, test := range map[string]struct {
		bytes []byte
		want  error
	}{
		"nothing":               {nil, errForeign},
		"a text":                {[]byte("somebody else's value under our key, long enough to be one of ours"), errForeign},
		"a header alone":        {sealed[:headerSize], errDamaged},
		"cut short":             {sealed[:len(sealed)-1], errDamaged},
		"something appended":    {change(func(b []byte) []byte { return append(b, 0) }), errDamaged},
		"one bit of a fact":     {change(func(b []byte) []byte { b[headerSize+20] ^= 1; return b }), errDamaged},
		"one bit of the expiry": {change(func(b []byte) []byte { b[20] ^= 1; return b }), errDamaged},
		"another kind":          {change(func(b []byte) []byte { b[6]++; return b }), errForeign},
		"another schema":        {change(func(b []byte) []byte { b[5]++; return b }), errSchema},
		"another subject":       {mustEntry(t, newTag(), now().Add(time.Hour), titleBy("alpha", now())).seal(nil), errForeign},
		"a version to come": {change(func(b []byte) []byte {
			binary.BigEndian.PutUint64(b[8:], uint64(time.Now().Add(48*time.Hour).UnixMicro()))
			return b
		}), errFuture},
		"a size beyond ours": {change(func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[24:], maxPayload+1)
			binary.BigEndian.PutUint32(b[28:], checksum(b))
			return b
		}), errOversize},
		"ten megabytes":        {change(func(b []byte) []byte { return append(b, make([]byte, 10<<20)...) }), errOversize},
		"a decompression bomb": {bomb(), errDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := unseal(test.bytes, subject, time.Now()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// FuzzUnseal checks that no bytes become a record that cannot be written, even
// when their checksum is right.
func FuzzUnseal(f *testing.F) {
	subject := tag{1, 2, 3}
	at := time.UnixMilli(1767225600000)
	for _, record := range []enrich.Record{enrich.NewRecord(titleBy("alpha", at)), wideRecord(at)} {
		f.Add(mustEntry(f, subject, at, record.Facts()...).seal(nil))
	}
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if len(sealed) >= headerSize {
			copy(sealed[32:], subject[:])
			binary.BigEndian.PutUint32(sealed[28:], checksum(sealed))
		}
		opened, err := unseal(sealed, subject, time.Now())
		if err != nil {
			return
		}
		record, err := opened.record()
		if err != nil {
			return
		}
		again, err := newEntry(subject, record, opened.until)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		wantSame(t, mustRecord(t, again), record)
	})
}
