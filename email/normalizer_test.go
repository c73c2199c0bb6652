package email

import "testing"

func TestNormalize(t *testing.T) {
	a, err := Normalize("John Doe <John@Example.com>")
	if err != nil || a.Reveal() != "john@example.com" {
		t.Fatalf("got %q, %v", a.Reveal(), err)
	}
}
