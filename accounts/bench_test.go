package accounts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkByKey looks callers up among 1,000 accounts of two keys.
func BenchmarkByKey(b *testing.B) {
	var config Config
	var good string
	for i := range 1000 {
		good = NewKey()
		config.List = append(config.List, Account{
			Name: fmt.Sprintf("a%d", i),
			Keys: []Key{{Hash: mustHash(b, good)}, {Hash: mustHash(b, NewKey())}},
		})
	}
	over := NewKey()
	config.List[0].Keys = append(config.List[0].Keys, Key{Hash: mustHash(b, over), NotAfter: time.Now().Add(-time.Hour)})
	registry := mustRegistry(b, config)
	for _, test := range []struct{ name, key string }{
		{"good", good}, {"wrong", NewKey()}, {"missing", ""}, {"over", over}, {"malformed", strings.Repeat("x", 8<<10)},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				registry.ByKey(test.key)
			}
		})
	}
}
