package email

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestEditsKeepOffsets cuts and edits texts of bytes that are all different and
// checks that each byte still knows where it came from.
func TestEditsKeepOffsets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, 120)
	for i := range all {
		all[i] = byte(i + 1)
	}
	for range 2000 {
		now := text{s: string(all)}
		for range 1 + rnd.IntN(4) {
			if n := len(now.s); n > 2 && rnd.IntN(2) == 0 {
				i := rnd.IntN(n / 2)
				now = now.cut(i, i+rnd.IntN(n-i)+1)
			}
			e := edit{src: now}
			for i := 0; i < len(now.s); i++ {
				if rnd.IntN(8) == 0 {
					j := min(i+rnd.IntN(4), len(now.s))
					e.replace(i, j, strings.Repeat("\xff", rnd.IntN(3)))
					i = j
				}
			}
			now = e.text()
		}
		for i := range len(now.s) {
			if b := now.s[i]; b != 0xff && now.pos(i) != int(b)-1 {
				t.Fatalf("byte %d of %q came from %d, not %d", i, now.s, b-1, now.pos(i))
			}
		}
		if end := now.pos(len(now.s)); end < 0 || end > len(all)+2 {
			t.Fatalf("the end came from %d", end)
		}
	}
}

func TestUnchangedEditIsFree(t *testing.T) {
	src := text{s: "john@example.com"}
	if allocs := testing.AllocsPerRun(100, func() {
		e := edit{src: src}
		_ = e.text()
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestStep(t *testing.T) {
	for s, want := range map[string][]int{
		`a"b c"d`: {1, 6, 7},
		`a"b c`:   {1, 2, 3, 4, 5},
		`\"a"`:    {2, 3, 4},
		`"a\"b"c`: {6, 7},
		`""""`:    {2, 4},
		`"a\\"b`:  {5, 6},
		`\\"a"`:   {1, 3, 4, 5},
	} {
		var got []int
		for i := 0; i < len(s); {
			i = step(s, i)
			got = append(got, i)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v", s, got)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v", s, got)
				break
			}
		}
	}
}
