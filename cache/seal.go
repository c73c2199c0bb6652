package cache

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/klauspost/compress/s2"
)

// The sealed form of an entry, as it lies in Redis. Numbers are big-endian, so
// that scripts can read and write the version.
//
//	 0  4  magic
//	 4  2  schema of the payload
//	 6  1  kind, always kindRecord
//	 7  1  flags
//	 8  8  version
//	16  8  until, Unix milliseconds
//	24  4  length of the payload before compression
//	28  4  CRC-32C of all other bytes except the version
//	32 32  tag
//	64     payload
const (
	magic      = "enr\x01"
	headerSize = 64

	kindRecord     = 1
	flagCompressed = 1
)

// schema numbers the form of the payload. A program reads and writes only its
// own, under a key of its own, so programs of different age share a Redis.
const schema = 1

// schemaSuffix ends the keys of each schema, past and future.
var schemaSuffix = func() (suffix [16]string) {
	for i := range suffix {
		suffix[i] = ":" + strconv.Itoa(i)
	}
	return suffix
}()

const (
	// maxPayload bounds an encoded record. A larger one is not kept.
	maxPayload = 256 << 10
	// compressAbove is the size from which compression halves what Redis keeps
	// and the network carries for a few microseconds.
	compressAbove = 1 << 10
	// maxFuture is how far the version of an entry may lie ahead of our clock.
	maxFuture = 24 * time.Hour
)

// The reasons why bytes under our keys are no entry of ours.
var (
	errForeign  = errors.New("cache: foreign bytes")
	errSchema   = errors.New("cache: entry of another schema")
	errDamaged  = errors.New("cache: damaged entry")
	errOversize = errors.New("cache: oversize entry")
	errFuture   = errors.New("cache: entry from the future")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns the entry's form in Redis, in the given bytes if they have room.
func (e *entry) seal(into []byte) []byte {
	sealed := slices.Grow(into[:0], headerSize+s2.MaxEncodedLen(len(e.payload)))[:headerSize]
	clear(sealed)
	copy(sealed, magic)
	binary.BigEndian.PutUint16(sealed[4:], schema)
	sealed[6] = kindRecord
	binary.BigEndian.PutUint64(sealed[8:], e.version)
	binary.BigEndian.PutUint64(sealed[16:], uint64(e.until.UnixMilli()))
	binary.BigEndian.PutUint32(sealed[24:], uint32(len(e.payload)))
	copy(sealed[32:], e.tag[:])
	if len(e.payload) > compressAbove {
		sealed[7] |= flagCompressed
		payload := unsafe.Slice(unsafe.StringData(e.payload), len(e.payload)) // is only read
		sealed = sealed[:headerSize+len(s2.Encode(sealed[headerSize:cap(sealed)], payload))]
	} else {
		sealed = append(sealed, e.payload...)
	}
	binary.BigEndian.PutUint32(sealed[28:], checksum(sealed))
	return sealed
}

// unseal checks bytes that lay under the key of t and returns the entry, which
// shares them: they are not to be changed any more.
func unseal(sealed []byte, t tag, now time.Time) (*entry, error) {
	if len(sealed) < headerSize || string(sealed[:4]) != magic || sealed[6] != kindRecord {
		return nil, errForeign
	}
	version := binary.BigEndian.Uint64(sealed[8:])
	size := binary.BigEndian.Uint32(sealed[24:])
	switch {
	case binary.BigEndian.Uint16(sealed[4:]) != schema:
		return nil, errSchema
	case tag(sealed[32:headerSize]) != t:
		return nil, errForeign
	case size > maxPayload || len(sealed) > maxSealed:
		return nil, errOversize
	case binary.BigEndian.Uint32(sealed[28:]) != checksum(sealed):
		return nil, errDamaged
	case version > uint64(now.Add(maxFuture).UnixMicro()):
		return nil, errFuture
	}
	payload, err := inflate(sealed[headerSize:], sealed[7], int(size))
	if err != nil {
		return nil, err
	}
	return &entry{
		tag:     t,
		version: version,
		until:   time.UnixMilli(int64(binary.BigEndian.Uint64(sealed[16:]))),
		payload: payload,
	}, nil
}

// maxSealed is the size of the largest value that can be an entry of ours.
var maxSealed = headerSize + s2.MaxEncodedLen(maxPayload)

// inflate never makes more than size bytes.
func inflate(body []byte, flags byte, size int) (string, error) {
	if flags&flagCompressed == 0 {
		if len(body) != size {
			return "", errDamaged
		}
		return shared(body), nil
	}
	if length, err := s2.DecodedLen(body); err != nil || length != size {
		return "", errDamaged
	}
	payload, err := s2.Decode(nil, body)
	if err != nil {
		return "", errDamaged
	}
	return shared(payload), nil
}

// shared is bytes that are not changed any more as a string.
func shared(bytes []byte) string { return unsafe.String(unsafe.SliceData(bytes), len(bytes)) }

// checksum covers everything but the version, which scripts set, and itself.
func checksum(sealed []byte) uint32 {
	sum := crc32.Checksum(sealed[:8], castagnoli)
	sum = crc32.Update(sum, castagnoli, sealed[16:28])
	return crc32.Update(sum, castagnoli, sealed[32:])
}
